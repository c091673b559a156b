// The supervisor, its child processes, the stop ladder and the reaper against real processes: fake_engine in all its
// moods.
#include <gmock/gmock.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "engine/llama_starter.h"
#include "engine/reaper.h"
#include "engine/supervisor.h"
#include "rt/deadline.h"
#include "tests/support/temp_folder.h"

namespace hearth::engine {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using domain::ModelState;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Settings = std::vector<std::pair<std::string, std::string>>;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int count(const std::string& text, const std::string& what) {
  int found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

// Waits for what another process does.
template <typename Condition>
bool becomes_true(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::usleep(2000);
  }
  return true;
}

bool exists(pid_t pid) { return std::filesystem::exists("/proc/" + std::to_string(pid)); }

class Supervision : public testing::Test {
 protected:
  ~Supervision() override {
    if (supervisor) {
      EXPECT_TRUE(run(supervisor->shut_down()));
    }
    EXPECT_THAT(leftovers(), IsEmpty());
  }

  // An engine with these settings (fake_engine's, without their prefix).
  void make(const Settings& settings, SupervisorLimits limits = {}) {
    LaunchSpec spec{.command = {HEARTH_FAKE_ENGINE}, .model_file = "/m.gguf", .alias = "m"};
    for (const auto& [name, value] : settings)
      spec.environment.emplace_back("FAKE_ENGINE_" + name, value);
    spec.environment.emplace_back("FAKE_ENGINE_LOG", journal_path());
    auto starter =
        std::make_unique<LlamaStarter>(std::move(spec), LlamaStarter::Parts{.executor = io.get_executor(),
                                                                            .processes = processes,
                                                                            .stats = stats,
                                                                            .files = files,
                                                                            .folder = folder + "/engines",
                                                                            .environment = own_environment(),
                                                                            .stop = {.asked = 300ms, .killed = 5s}});
    supervisor = std::make_unique<Supervisor>(
        domain::ModelId::parse("m").value(),
        Supervisor::Parts{.executor = io.get_executor(),
                          .starter = std::move(starter),
                          .clock = clock,
                          .pace = pace,
                          .on_event = [this](const domain::Event& event) { events.push_back(event.what); },
                          .on_crash = [](std::exception_ptr failure) { std::rethrow_exception(failure); }},
        std::move(limits));
  }

  template <typename T>
  T run(rt::Task<T> task) {
    std::optional<T> result;
    boost::asio::co_spawn(io, std::move(task), [&](std::exception_ptr failure, T value) {
      if (failure) std::rethrow_exception(failure);
      result = std::move(value);
    });
    io.restart();
    while (!result && io.run_one() > 0) {
    }
    return std::move(result).value();
  }
  base::Result<Ready> ask() { return run(supervisor->ensure_ready()); }
  void turn_for(std::chrono::milliseconds time) { (void)run(rt::pause(time)); }

  [[nodiscard]] std::string journal_path() const { return folder + "/journal"; }
  [[nodiscard]] std::string journal() const { return text_of(journal_path()); }
  [[nodiscard]] int starts() const { return count(journal(), "\"start\""); }
  [[nodiscard]] std::vector<std::string> leftovers() const {
    return files.list(folder + "/engines").value_or(std::vector<std::string>{});
  }

  boost::asio::io_context io;
  sys::LinuxProcesses processes;
  sys::LinuxProcStats stats;
  sys::LinuxFiles files;
  base::SystemClock clock;
  RealPace pace;
  test::TempFolder own;
  std::string folder = own.path();
  std::vector<std::string> events;
  std::unique_ptr<Supervisor> supervisor;
};

TEST_F(Supervision, AStartIsObservedAndLeavesNothingBehindWhenStopped) {
  make({{"LISTEN_MS", "30"}, {"LOAD_MS", "60"}});
  const auto ready = ask().value();
  const auto& start = ready.start.value();
  EXPECT_GE(*start.listening - start.spawned, 30ms);
  EXPECT_GE(*start.ready - start.spawned, 90ms);
  EXPECT_GE(*start.ready, *start.listening);
  EXPECT_TRUE(start.bytes_read && start.major_faults && start.blocked_on_storage);
  EXPECT_EQ(run(ask_health(ready.socket_path, 1s)), Health::ready);
  EXPECT_EQ(leftovers().size(), 2U);  // the socket and the record
  EXPECT_TRUE(run(supervisor->stop()));
  EXPECT_THAT(journal(), HasSubstr("stopped"));
  EXPECT_FALSE(exists(ready.pid));
}

TEST_F(Supervision, CrashesAreToldAtEveryPointOfAStart) {
  for (const auto& [where, signal, words] :
       {std::tuple{"start", "0", "exited with status 1: no such model, while starting"},
        std::tuple{"loading", "0", "exited with status 1: no such model, while starting"},
        std::tuple{"loading", "6", "was killed by signal 6 (Aborted): no such model, while starting"},
        std::tuple{"loading", "9", "was killed by signal 9 (Killed), perhaps because memory ran out: no such model"}}) {
    make({{"CRASH_AT", where},
          {"CRASH_SIGNAL", signal},
          {"LOAD_MS", "40"},
          {"LOG_LINES", "0.00.001.000 E no such model"}});
    const auto failed = ask();
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().message, HasSubstr(words));
    EXPECT_EQ(supervisor->state(), ModelState::failed);
    EXPECT_TRUE(run(supervisor->shut_down()));
  }
}

TEST_F(Supervision, ACrashWhileReadyIsNoticedAndTheNextRequestRestarts) {
  make({{"CRASH_AT", "ready"}, {"MOMENT_MS", "30"}, {"CRASH_STARTS", "1"}}, {.circuit = {.waits = {10ms, 10ms}}});
  const auto first = ask().value();
  EXPECT_THAT(run(supervisor->exit_reason(first.generation, 5s)).value_or(""), HasSubstr("exited with status 1"));
  EXPECT_EQ(supervisor->state(), ModelState::failed);
  const auto second = ask().value();
  EXPECT_EQ(second.generation, 2U);
  EXPECT_NE(second.pid, first.pid);
  EXPECT_NE(second.socket_path, first.socket_path);
}

rt::Task<bool> request_until_cut(std::string socket_path) {
  boost::asio::local::stream_protocol::socket socket(co_await boost::asio::this_coro::executor);
  const boost::asio::local::stream_protocol::endpoint endpoint(socket_path);
  const std::string request =
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 28\r\n\r\n{\"prompt\":\"a\",\"stream\":true}";
  const auto [refused] = co_await socket.async_connect(endpoint, rt::kTuple);
  const auto [unsent, sent] = co_await boost::asio::async_write(socket, boost::asio::buffer(request), rt::kTuple);
  std::array<char, 4096> buffer;
  for (;;) {
    const auto [error, read] = co_await socket.async_read_some(boost::asio::buffer(buffer), rt::kTuple);
    if (error) co_return !refused && !unsent;
  }
}

TEST_F(Supervision, ACrashAmidATokenHasAReasonForTheRequestThatItCut) {
  make({{"CRASH_AT", "token:3"}, {"CRASH_SIGNAL", "11"}});
  const auto ready = ask().value();
  ASSERT_TRUE(run(request_until_cut(ready.socket_path)));
  EXPECT_THAT(run(supervisor->exit_reason(ready.generation, 5s)).value_or(""), HasSubstr("signal 11"));
  EXPECT_THAT(journal(), HasSubstr("begun"));
}

TEST_F(Supervision, AStallIsKilledWhereverItHappens) {
  for (const char* where : {"start", "loading"}) {
    make({{"STALL_AT", where}, {"LOAD_MS", "10"}}, {.stall = 400ms});
    const auto failed = ask();
    ASSERT_FALSE(failed) << where;
    EXPECT_THAT(failed.error().message, HasSubstr("nothing of it moved")) << where;
    EXPECT_FALSE(supervisor->pid());
    EXPECT_TRUE(run(supervisor->shut_down()));
  }
}

TEST_F(Supervision, WorkIsNoStall) {
  make({{"BUSY", "true"}, {"LOAD_MS", "900"}}, {.stall = 400ms});
  EXPECT_TRUE(ask());
}

TEST_F(Supervision, WhoLeavesDoesNotEndTheStartAndWhoComesAttaches) {
  make({{"LOAD_MS", "200"}});
  boost::asio::cancellation_signal leave;
  std::optional<base::Result<Ready>> left;
  boost::asio::co_spawn(io, supervisor->ensure_ready(),
                        boost::asio::bind_cancellation_slot(
                            leave.slot(), [&](std::exception_ptr, base::Result<Ready> ready) { left = ready; }));
  turn_for(50ms);
  leave.emit(boost::asio::cancellation_type::terminal);
  turn_for(10ms);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->error().code, ErrorCode::cancelled);
  const auto ready = ask().value();
  EXPECT_TRUE(ready.start);
  EXPECT_EQ(ready.generation, 1U);
  EXPECT_EQ(starts(), 1);
}

TEST_F(Supervision, TheCircuitOpensAndLetsOneTryThrough) {
  make({{"CRASH_AT", "start"}, {"CRASH_STARTS", "3"}},
       {.circuit = {.waits = {20ms, 40ms}, .open_for = 200ms, .open_at_most = 1s}});
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(ask());
  EXPECT_EQ(starts(), 3);
  const auto refused = ask();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("3 times in a row"));
  EXPECT_GT(refused.error().retry_after.value(), 0ms);
  EXPECT_EQ(starts(), 3);
  turn_for(*refused.error().retry_after + 5ms);
  EXPECT_TRUE(ask());
  EXPECT_EQ(starts(), 4);
}

TEST_F(Supervision, WhoIgnoresTheRequestToEndIsKilled) {
  make({{"IGNORE_TERM", "true"}});
  const auto ready = ask().value();
  const auto began = clock.now();
  EXPECT_TRUE(run(supervisor->stop()));
  EXPECT_GE(clock.now() - began, 300ms);
  EXPECT_THAT(journal(), Not(HasSubstr("stopped")));
  EXPECT_FALSE(exists(ready.pid));
}

TEST_F(Supervision, AStartIsStoppedAtOnce) {
  make({{"LOAD_MS", "60000"}});
  std::optional<base::Result<Ready>> got;
  boost::asio::co_spawn(io, supervisor->ensure_ready(),
                        [&](std::exception_ptr, base::Result<Ready> ready) { got = ready; });
  turn_for(50ms);
  const auto began = clock.now();
  EXPECT_TRUE(run(supervisor->stop()));
  EXPECT_LT(clock.now() - began, 250ms);
  turn_for(10ms);
  EXPECT_EQ(got->error().code, ErrorCode::cancelled);
}

TEST_F(Supervision, HelpersOfTheEngineEndWithIt) {
  make({{"FORK_CHILD", "true"}, {"CRASH_AT", "ready"}, {"MOMENT_MS", "20"}});
  const auto ready = ask().value();
  const auto children =
      text_of("/proc/" + std::to_string(ready.pid) + "/task/" + std::to_string(ready.pid) + "/children");
  const pid_t helper = std::atoi(children.c_str());
  ASSERT_GT(helper, 1);
  EXPECT_TRUE(run(supervisor->exit_reason(ready.generation, 5s)));
  // Ended is enough: who reaps an orphan, and when, is not our affair.
  EXPECT_TRUE(becomes_true([&] {
    const auto command = processes.command_of(helper);
    return !command || command->empty();
  }));
}

// A server killed outright: the kernel ends its engine.
TEST(ParentDeath, TheEngineEndsWithAServerThatIsKilled) {
  sys::LinuxProcesses processes;
  const auto server = processes.spawn({.argv = {HEARTH_ORPHAN_MAKER, "/bin/sleep", "1000"}, .environment = {}}).value();
  char text[32] = {};
  ASSERT_GT(::read(server.output.get(), text, sizeof text - 1), 0);
  const pid_t engine = std::atoi(text);
  const auto engine_fd = processes.open(engine).value();
  ASSERT_TRUE(processes.signal(server.pidfd, SIGKILL));
  EXPECT_TRUE(processes.wait_ended(engine_fd, 10s));
  ASSERT_TRUE(processes.wait_ended(server.pidfd, 10s));
  EXPECT_TRUE(processes.reap(server.pidfd));
}

class ReapingRealProcesses : public testing::Test {
 protected:
  ReapingRealProcesses() { EXPECT_TRUE(files.ensure_directory(folder, 0700)); }
  ~ReapingRealProcesses() override {
    EXPECT_TRUE(processes.signal(engine.pidfd, SIGKILL) || !exists(engine.identity.pid));
    EXPECT_TRUE(processes.wait_ended(engine.pidfd, 10s));
    EXPECT_TRUE(processes.reap(engine.pidfd));
  }
  Reaped reap(const sys::ProcessIdentity& identity) {
    EXPECT_TRUE(write_record(files, folder + "/a.json", {identity, "/bin/sleep", folder + "/a.sock"}));
    return reap_leftovers(files, processes, folder).value().at(0);
  }

  sys::LinuxProcesses processes;
  sys::LinuxFiles files;
  test::TempFolder own;
  std::string folder = own.path();
  sys::SpawnedProcess engine = processes.spawn({.argv = {"/bin/sleep", "1000"}, .environment = {}}).value();
};

TEST_F(ReapingRealProcesses, ExactlyTheRecordedProcessIsKilled) {
  EXPECT_EQ(reap(engine.identity).fate, Reaped::Fate::killed);
  EXPECT_TRUE(processes.wait_ended(engine.pidfd, 0ms));
}

TEST_F(ReapingRealProcesses, APidGivenAgainIsLeftAlone) {
  auto other = engine.identity;
  other.start_ticks -= 1;
  EXPECT_EQ(reap(other).fate, Reaped::Fate::gone);
  other = engine.identity;
  other.boot_id = "00000000-0000-0000-0000-000000000000";
  EXPECT_EQ(reap(other).fate, Reaped::Fate::gone);
  EXPECT_FALSE(processes.wait_ended(engine.pidfd, 0ms));
  EXPECT_THAT(files.list(folder).value(), IsEmpty());
}

}  // namespace
}  // namespace hearth::engine
