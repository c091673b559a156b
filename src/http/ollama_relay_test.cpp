// Ollama's dialect over a real socket of loopback and a scripted engine.
#include "http/ollama_relay.h"

#include <boost/asio/post.hpp>

#include "http/server_fixture.h"

namespace hearth::http {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

// Waits for work that cannot be cancelled: it is over some turns of the loop after its caller was cancelled.
struct StubbornGate final : EngineGate {
  rt::Task<base::Result<std::unique_ptr<EngineLease>>> acquire(domain::ModelId, domain::Asker) override {
    asked = true;
    co_await asio::this_coro::throw_if_cancelled(false);
    const auto state = co_await asio::this_coro::cancellation_state;
    while (state.cancelled() == asio::cancellation_type::none)
      co_await rt::pause(1ms);
    for (int turn = 0; turn < 10; ++turn)
      co_await asio::post(asio::use_awaitable);
    co_await asio::this_coro::throw_if_cancelled(true);
    co_return base::fail(base::ErrorCode::cancelled, "the wait was given up");
  }
  rt::Task<base::Status> unload(domain::ModelId, domain::Asker) override { co_return base::Status{}; }
  bool asked = false;
};

const std::string kAsk = R"({"model":"m","messages":[{"role":"user","content":"hi"}]})";

class OllamaRelayTest : public ServerTest {
 protected:
  OllamaRelayTest() {
    router.add(beast::http::verb::post, "/api/chat",
               [this](Exchange& exchange) { return ollama.serve(OllamaCall::chat, exchange); });
    router.add(beast::http::verb::post, "/stubborn/chat",
               [this](Exchange& exchange) { return behind_stubborn_gate.serve(OllamaCall::chat, exchange); });
  }

  // A client whose request waits at the gate that answers nobody.
  rt::Task<tcp::socket> ask_stubborn() {
    tcp::socket socket = co_await connect();
    const std::string request = post("/stubborn/chat", kAsk);
    co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
    while (!stubborn.asked)
      co_await rt::pause(1ms);
    co_return socket;
  }

  EmptyShelf shelf;
  StubbornGate stubborn;
  OllamaRelay ollama{gate, shelf, journal, clock};
  OllamaRelay behind_stubborn_gate{stubborn, shelf, journal, clock};
};

TEST_F(OllamaRelayTest, StreamsLines) {
  engine.script = {std::string(kStreamHead), chunk(kToken), chunk(kEnd), "0\r\n\r\n"};
  const std::string answer = run(talk(post("/api/chat", kAsk)));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr(R"("message":{"role":"assistant","content":"Hi"},"done":false})"));
  EXPECT_THAT(answer, HasSubstr(R"("done":true)"));
}

TEST_F(OllamaRelayTest, AClientThatLeavesWhileAnEngineIsWaitedForIsOnlyRecorded) {
  const auto leave = [this]() -> rt::Task<bool> {
    tcp::socket socket = co_await ask_stubborn();
    socket.close();
    while (journal.seen.empty())
      co_await rt::pause(1ms);
    co_return true;
  };
  EXPECT_TRUE(run(leave()));
  EXPECT_EQ(journal.seen.at(0).status, 499);
}

TEST_F(OllamaRelayTest, TheServersStopWhileAnEngineIsWaitedForIsOnlyRecorded) {
  const auto stop = [this]() -> rt::Task<bool> {
    const tcp::socket socket = co_await ask_stubborn();
    co_await server->stop(1ms);
    co_return true;
  };
  EXPECT_TRUE(run(stop()));
  EXPECT_EQ(journal.seen.at(0).status, 503);
}

TEST_F(OllamaRelayTest, AnEngineThatCannotBeReadIsToldToTheClient) {
  gate.failure = base::Error{base::ErrorCode::io, "the engine's command failed with status 1"};
  const std::string answer = run(talk(post("/api/chat", kAsk)));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(answer, HasSubstr("failed with status 1"));
  EXPECT_EQ(journal.seen.at(0).status, 500);
}

}  // namespace
}  // namespace hearth::http
