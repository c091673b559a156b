// The native API over a real socket of loopback.
#include "http/native_api.h"

#include "http/server_fixture.h"

namespace hearth::http {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

// Reads a model for as long as anybody wants to know, once it is told to.
struct ReadingShelf final : EmptyShelf {
  rt::Task<base::Result<domain::Verification>> verify(domain::ModelId) override {
    reading = true;
    if (endless) {
      rt::asio::steady_timer never(co_await rt::asio::this_coro::executor, rt::asio::steady_timer::time_point::max());
      co_await never.async_wait(rt::kTuple);
      stopped = true;
      co_return base::fail(base::ErrorCode::cancelled, "reading was stopped");
    }
    domain::Verification found;
    found.artifact_bytes = 7;
    co_return found;
  }
  bool endless = false;
  bool reading = false;
  bool stopped = false;
};

struct NoMachine final : MachineProbe {
  rt::Task<domain::MachineView> look() override { co_return domain::MachineView{}; }
  Health health() override { return {}; }
};

class NativeApiTest : public ServerTest {
 protected:
  NativeApiTest() { add_native_routes(router, {shelf, jobs, journal, machine}); }
  const std::string verify = post("/hearth/v1/models/m/verify", "{}");
  ReadingShelf shelf;
  NoMachine machine;
  LayerJobs jobs{io.get_executor(), shelf, journal};
};

TEST_F(NativeApiTest, VerifyingTellsWhatWasFound) {
  const std::string answer = run(talk(verify));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("\"bytes\":7"));
}

TEST_F(NativeApiTest, AClientThatLeavesEndsItsVerification) {
  shelf.endless = true;
  const auto leave = [this]() -> rt::Task<bool> {
    tcp::socket socket = co_await connect();
    co_await asio::async_write(socket, asio::buffer(verify), asio::use_awaitable);
    while (!shelf.reading)
      co_await rt::pause(1ms);
    socket.close();
    while (!shelf.stopped)
      co_await rt::pause(1ms);
    co_return true;
  };
  EXPECT_TRUE(run(leave()));
}

}  // namespace
}  // namespace hearth::http
