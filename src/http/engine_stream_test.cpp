#include "http/engine_stream.h"

#include "http/server_fixture.h"

namespace hearth::http {
namespace {

using namespace std::chrono_literals;

// Asks an engine that takes the request and says nothing, or only the head of its answer.
base::Error error_of_a_silent_engine(std::vector<std::string> script, bool& silent) {
  asio::io_context io;
  ScriptedEngine engine(io);
  engine.script = std::move(script);
  engine.stay_silent_at_end = true;
  base::Error error;
  const auto ask = [&]() -> rt::Task<void> {
    EngineStream stream(io.get_executor(), {.connect = 10s, .take = 10s, .answer = 30ms});
    auto asked = co_await stream.ask(engine.path(), "/x", "{}", [] {});
    std::string piece;
    if (asked) asked = co_await stream.read(piece);
    if (!asked) error = asked.error();
    silent = stream.silent();
    engine.close();
  };
  asio::co_spawn(io, engine.serve(), asio::detached);
  asio::co_spawn(io, ask(), asio::detached);
  io.run();
  return error;
}

TEST(EngineStream, SilenceIsTheEnginesFailureAndToldWithItsLimit) {
  for (const auto& script :
       {std::vector<std::string>{}, std::vector<std::string>{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"}}) {
    bool silent = false;
    const auto error = error_of_a_silent_engine(script, silent);
    EXPECT_TRUE(silent);
    EXPECT_EQ(error.code, base::ErrorCode::engine_failed) << "not 408, which is the client's";
    EXPECT_THAT(error.message, testing::HasSubstr("silent for 0.03 seconds"));
  }
}

}  // namespace
}  // namespace hearth::http
