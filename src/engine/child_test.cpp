#include "engine/child.h"

#include <gmock/gmock.h>

#include <csignal>

#include "engine/stop_ladder.h"
#include "rt/task_group.h"
#include "sys/fake_processes.h"

namespace hearth::engine {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;

class ChildTest : public testing::Test {
 protected:
  void start(sys::FakeProgram program) {
    processes.install("/bin/engine", std::move(program));
    auto spawned = processes.spawn({.argv = {"/bin/engine"}}).value();
    pid = spawned.identity.pid;
    child = std::make_unique<Child>(io.get_executor(), processes, std::move(spawned));
    group.spawn(child->run());
  }
  void run() {
    io.restart();
    io.run();
  }
  rt::Task<void> stop() {
    const StopLimits limits{.asked = 5ms, .killed = 5ms};
    stopped = co_await stop_child(*child, limits);
  }

  boost::asio::io_context io;
  sys::FakeProcesses processes;
  rt::TaskGroup group{io.get_executor(), [](std::exception_ptr failure) { std::rethrow_exception(failure); }};
  std::unique_ptr<Child> child;
  std::optional<Stopped> stopped;
  pid_t pid = 0;
};

TEST_F(ChildTest, TellsHowItEndedInItsOwnWords) {
  start({.output = "error: no such model\n", .ends = sys::ExitStatus{false, 1}});
  run();
  ASSERT_TRUE(child->ended());
  EXPECT_EQ(child->how_it_ended(), "exited with status 1: error: no such model");
  EXPECT_FALSE(processes.running(pid));
}

TEST_F(ChildTest, ReadsWhatItSaysWhileItRuns) {
  start({.output = "one\n"});
  io.poll();
  EXPECT_THAT(child->log().lines(), ElementsAre("one"));
  processes.say(pid, "two\n");
  processes.end(pid, {false, 0});
  run();
  EXPECT_EQ(child->how_it_ended(), "exited with status 0: two");
}

TEST_F(ChildTest, AKillThatWasNotOursHintsAtMemory) {
  start({});
  processes.end(pid, {true, SIGKILL});
  run();
  EXPECT_EQ(child->how_it_ended(), "was killed by signal 9 (Killed), perhaps because memory ran out");
}

TEST_F(ChildTest, AskingIsEnoughForMost) {
  start({});
  group.spawn(stop());
  run();
  EXPECT_EQ(stopped, Stopped::asked);
  EXPECT_THAT(processes.signals(), ElementsAre(Pair(pid, SIGTERM), Pair(pid, SIGKILL)));  // the second is for its group
}

TEST_F(ChildTest, WhoDoesNotListenIsKilled) {
  start({.ignores_term = true});
  group.spawn(stop());
  run();
  EXPECT_EQ(stopped, Stopped::killed);
  EXPECT_EQ(child->how_it_ended(), "was killed by signal 9 (Killed)");
}

TEST_F(ChildTest, DestroyingARunningOneKillsIt) {
  {
    boost::asio::io_context other;
    processes.install("/bin/engine", {});
    const Child doomed(other.get_executor(), processes, processes.spawn({.argv = {"/bin/engine"}}).value());
  }
  EXPECT_FALSE(processes.running(processes.last_pid()));
}

}  // namespace
}  // namespace hearth::engine
