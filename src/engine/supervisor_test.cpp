// The supervisor with a scripted engine and a clock that jumps: a minute of stalling takes no time.
#include "engine/supervisor.h"

#include <gmock/gmock.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/post.hpp>

namespace hearth::engine {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using domain::ModelState;
using testing::ElementsAre;
using testing::HasSubstr;

class JumpingClock final : public base::Clock, public Pace {
 public:
  [[nodiscard]] base::Mono now() const override { return now_; }
  [[nodiscard]] base::Wall wall() const override { return base::Wall(1'700'000'000s); }
  rt::Task<void> pause(base::Duration duration) override {
    now_ += duration;
    co_await boost::asio::post(co_await boost::asio::this_coro::executor, boost::asio::use_awaitable);
  }
  void pass(base::Duration duration) { now_ += duration; }

 private:
  base::Mono now_{1000s};
};

// What one start does, in time since it began. Empty: never.
struct Script {
  std::optional<base::Duration> listens = 10ms;
  std::optional<base::Duration> ready = 100ms;
  std::optional<base::Duration> crashes;
  bool works = true;  // processor time goes by
  bool starts = true;
  bool only_with_library = false;  // it crashes
};

class ScriptedProcess final : public EngineProcess {
 public:
  ScriptedProcess(boost::asio::any_io_executor executor, const base::Clock& clock, Script script, int pid)
      : clock_(clock), script_(script), began_(clock.now()), pid_(pid), changed_(executor) {}

  rt::Task<void> run() override {
    constexpr auto kForever = base::Mono::max();
    while (!ended_)
      (void)co_await changed_.wait_until(kForever);
  }
  rt::Task<Health> health() override {
    const auto age = clock_.now() - began_;
    if (script_.crashes && age >= *script_.crashes) end();
    // Lets run() see the end, as a real question gives the loop a turn.
    co_await boost::asio::post(co_await boost::asio::this_coro::executor, boost::asio::use_awaitable);
    co_await boost::asio::post(co_await boost::asio::this_coro::executor, boost::asio::use_awaitable);
    if (ended_) co_return Health::silent;
    if (script_.ready && age >= *script_.ready) co_return Health::ready;
    co_return script_.listens&& age >= *script_.listens ? Health::loading : Health::silent;
  }
  void end() {
    ended_ = true;
    changed_.notify_all();
  }
  rt::Task<bool> stop() override {
    stopped = true;
    end();
    co_return true;
  }
  [[nodiscard]] sys::ProcReading reading() const override {
    const auto worked = script_.works ? clock_.now() - began_ : base::Duration::zero();
    return {.resident = 0,
            .read_from_storage = 4096,
            .read_by_calls = 0,
            .major_faults = 3,
            .processor_time = worked,
            .main_thread = sys::ThreadTimes{worked / 2, 0ns}};
  }
  [[nodiscard]] std::uint64_t output_bytes() const override { return 0; }
  [[nodiscard]] std::vector<std::string> last_lines() const override { return {"its last line"}; }
  [[nodiscard]] std::string how_it_ended() const override { return "exited with status 1: its last line"; }
  [[nodiscard]] bool crashed() const override { return ended_ && !stopped; }
  [[nodiscard]] int pid() const override { return pid_; }
  [[nodiscard]] const std::string& socket_path() const override { return socket_; }

  bool stopped = false;

 private:
  const base::Clock& clock_;
  Script script_;
  base::Mono began_;
  int pid_;
  bool ended_ = false;
  std::string socket_ = "/run/e.sock";
  rt::Notice changed_;
};

class ScriptedStarter final : public Starter {
 public:
  ScriptedStarter(boost::asio::any_io_executor executor, const base::Clock& clock)
      : executor_(executor), clock_(clock) {}
  base::Result<std::unique_ptr<EngineProcess>> start() override {
    starts.push_back(clock_.now());
    if (!script.starts) return base::fail(ErrorCode::not_found, "starting /x: No such file or directory");
    auto scripted = script;
    if (script.only_with_library && library) scripted.crashes = 0ms;
    auto process = std::make_unique<ScriptedProcess>(executor_, clock_, scripted, static_cast<int>(starts.size()));
    current = process.get();
    return process;
  }
  bool use_library(bool use) override {
    if (!has_library || library == use) return false;
    library = use;
    return true;
  }
  Script script;
  bool has_library = false;
  bool library = true;
  std::vector<base::Mono> starts;
  ScriptedProcess* current = nullptr;

 private:
  boost::asio::any_io_executor executor_;
  const base::Clock& clock_;
};

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() {
    auto owned = std::make_unique<ScriptedStarter>(io.get_executor(), clock);
    starter = owned.get();
    supervisor = std::make_unique<Supervisor>(
        domain::ModelId::parse("m").value(),
        Supervisor::Parts{.executor = io.get_executor(),
                          .starter = std::move(owned),
                          .clock = clock,
                          .pace = clock,
                          .on_event = [this](const domain::Event& event) { events.push_back(event.what); },
                          .on_crash = [](std::exception_ptr failure) { std::rethrow_exception(failure); }},
        SupervisorLimits{.hard_cap = 5min});
  }
  ~SupervisorTest() override { EXPECT_TRUE(run(supervisor->shut_down())); }

  // Runs the loop until `task` has its result.
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
  void crash() {
    starter->current->end();
    io.restart();
    io.poll();
  }

  boost::asio::io_context io;
  JumpingClock clock;
  ScriptedStarter* starter = nullptr;  // owned by the supervisor
  std::vector<std::string> events;
  std::unique_ptr<Supervisor> supervisor;
};

TEST_F(SupervisorTest, StartsOnceAndThenAnswersAtOnce) {
  EXPECT_EQ(supervisor->state(), ModelState::cold);
  const auto first = ask().value();
  EXPECT_EQ(first.socket_path, "/run/e.sock");
  EXPECT_EQ(first.generation, 1U);
  ASSERT_TRUE(first.start);
  EXPECT_EQ(*first.start->listening - first.start->spawned, 10ms);
  EXPECT_EQ(*first.start->ready - first.start->spawned, 100ms);
  EXPECT_EQ(first.start->bytes_read, 4096U);
  EXPECT_EQ(first.start->major_faults, 3U);
  EXPECT_EQ(first.start->blocked_on_storage, 25ms);  // half of the first 50 ms, the span in which bytes were read
  EXPECT_EQ(supervisor->state(), ModelState::ready);
  EXPECT_EQ(supervisor->pid(), 1);
  EXPECT_FALSE(ask().value().start);
  EXPECT_EQ(starter->starts.size(), 1U);
  EXPECT_THAT(events, ElementsAre("process_started", "process_ready"));
}

TEST_F(SupervisorTest, ACrashWithTheLibraryIsTriedOnceWithoutIt) {
  starter->has_library = true;
  starter->script.only_with_library = true;
  EXPECT_EQ(ask().value().generation, 2U);
  EXPECT_FALSE(starter->library);
  EXPECT_THAT(events, ElementsAre("process_started", "tier_given_up", "process_started", "process_ready"));
}

TEST_F(SupervisorTest, ACrashWithoutTheLibraryTooIsNotTheLibrarysFault) {
  starter->has_library = true;
  starter->script.crashes = 0ms;
  EXPECT_EQ(ask().error().code, ErrorCode::engine_failed);
  EXPECT_TRUE(starter->library);
  EXPECT_THAT(events, ElementsAre("process_started", "tier_given_up", "process_started", "process_failed"));
}

TEST_F(SupervisorTest, ASecondCallerAttachesToTheSameStart) {
  std::vector<Ready> got;
  for (int i = 0; i < 2; ++i) {
    boost::asio::co_spawn(io, supervisor->ensure_ready(),
                          [&](std::exception_ptr, base::Result<Ready> ready) { got.push_back(ready.value()); });
  }
  while (got.size() < 2 && io.run_one() > 0) {
  }
  EXPECT_EQ(starter->starts.size(), 1U);
  EXPECT_TRUE(got.at(0).start && got.at(1).start);
}

TEST_F(SupervisorTest, ACallerThatLeavesDoesNotEndTheStart) {
  boost::asio::cancellation_signal leave;
  std::optional<base::Result<Ready>> left;
  boost::asio::co_spawn(io, supervisor->ensure_ready(),
                        boost::asio::bind_cancellation_slot(
                            leave.slot(), [&](std::exception_ptr, base::Result<Ready> ready) { left = ready; }));
  for (int i = 0; i < 10; ++i)
    io.run_one();
  leave.emit(boost::asio::cancellation_type::terminal);
  while (!left && io.run_one() > 0) {
  }
  EXPECT_EQ(left->error().code, ErrorCode::cancelled);
  EXPECT_EQ(supervisor->state(), ModelState::starting);
  EXPECT_EQ(ask().value().generation, 1U);
}

TEST_F(SupervisorTest, ACrashWhileStartingIsToldInTheEnginesWords) {
  starter->script.crashes = 50ms;
  const auto failed = ask();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::engine_failed);
  EXPECT_EQ(failed.error().message, "the engine of m exited with status 1: its last line, while starting");
  EXPECT_EQ(supervisor->state(), ModelState::failed);
  EXPECT_THAT(supervisor->last_lines(), ElementsAre("its last line"));
  EXPECT_FALSE(supervisor->pid());
}

TEST_F(SupervisorTest, AProgramThatCannotBeStartedIsAFailureToo) {
  starter->script.starts = false;
  EXPECT_THAT(ask().error().message, HasSubstr("could not be started: starting /x"));
  EXPECT_EQ(supervisor->state(), ModelState::failed);
}

TEST_F(SupervisorTest, BackOffThenCircuitThenOneTry) {
  starter->script.crashes = 0ms;
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(ask());
  const auto& starts = starter->starts;
  ASSERT_EQ(starts.size(), 3U);
  EXPECT_GE(starts[1] - starts[0], 1s);
  EXPECT_GE(starts[2] - starts[1], 4s);
  const auto refused = ask();
  EXPECT_THAT(refused.error().message, HasSubstr("failed 3 times in a row"));
  EXPECT_EQ(refused.error().retry_after, 30s);
  EXPECT_EQ(supervisor->failure()->retry_at, clock.wall() + 30s);
  EXPECT_EQ(starts.size(), 3U);
  clock.pass(30s);
  EXPECT_FALSE(ask());
  EXPECT_EQ(starts.size(), 4U);
  EXPECT_EQ(ask().error().retry_after, 60s);
  clock.pass(60s);
  starter->script.crashes.reset();
  EXPECT_TRUE(ask());
  EXPECT_FALSE(supervisor->failure());
}

TEST_F(SupervisorTest, AnEngineThatOnlyBecomesReadyHasNotProvenItself) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(ask());
    crash();
    EXPECT_EQ(supervisor->state(), ModelState::failed);
  }
  EXPECT_TRUE(ask().error().retry_after);
}

TEST_F(SupervisorTest, ServingOrLivingLongForgives) {
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(ask()) << i;
    if (i % 2 == 0)
      supervisor->note_served();
    else
      clock.pass(61s);
    crash();
  }
}

TEST_F(SupervisorTest, NothingMovingIsAStallHoweverLongAStartMayTake) {
  starter->script.ready = 4min;
  EXPECT_TRUE(ask());
  crash();
  starter->script.ready.reset();
  starter->script.works = false;
  const auto before = clock.now();
  const auto stalled = ask();
  EXPECT_THAT(stalled.error().message, HasSubstr("was killed: while starting nothing of it moved for 60"));
  EXPECT_LT(clock.now() - before, 70s);
}

TEST_F(SupervisorTest, EvenWorkHasAnEnd) {
  starter->script.ready.reset();
  EXPECT_THAT(ask().error().message, HasSubstr("not ready after"));
}

TEST_F(SupervisorTest, ACrashWhileReadyIsKnownToWhoUsedIt) {
  const auto ready = ask().value();
  starter->current->end();
  EXPECT_EQ(run(supervisor->exit_reason(ready.generation, 1s)), "exited with status 1: its last line");
  EXPECT_THAT(events, ElementsAre("process_started", "process_ready", "process_failed"));
  EXPECT_EQ(ask().value().generation, 2U);
}

TEST_F(SupervisorTest, AStopIsNoFailure) {
  const auto ready = ask().value();
  EXPECT_TRUE(run(supervisor->stop()));
  EXPECT_EQ(supervisor->state(), ModelState::cold);
  EXPECT_EQ(run(supervisor->exit_reason(ready.generation, 0s)), std::nullopt);
  EXPECT_EQ(events.back(), "process_stopped");
  EXPECT_TRUE(ask());
}

TEST_F(SupervisorTest, AStopWhileStartingTellsTheWaiters) {
  starter->script.ready = 10min;
  std::optional<base::Result<Ready>> got;
  boost::asio::co_spawn(io, supervisor->ensure_ready(),
                        [&](std::exception_ptr, base::Result<Ready> ready) { got = ready; });
  for (int i = 0; i < 20; ++i)
    io.run_one();
  EXPECT_EQ(supervisor->state(), ModelState::starting);
  EXPECT_TRUE(run(supervisor->stop()));
  while (!got && io.run_one() > 0) {
  }
  EXPECT_EQ(got->error().code, ErrorCode::cancelled);
  EXPECT_EQ(supervisor->state(), ModelState::cold);
}

TEST_F(SupervisorTest, NothingStartsAfterTheEnd) {
  EXPECT_TRUE(run(supervisor->shut_down()));
  EXPECT_EQ(ask().error().code, ErrorCode::cancelled);
  EXPECT_TRUE(starter->starts.empty());
}

}  // namespace
}  // namespace hearth::engine
