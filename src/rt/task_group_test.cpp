#include "rt/task_group.h"

#include <gtest/gtest.h>

#include "rt/deadline.h"

namespace hearth::rt {
namespace {

using namespace std::chrono_literals;

struct Loop {
  asio::io_context io;
  std::exception_ptr crash;
  TaskGroup group{io.get_executor(), [this](std::exception_ptr failure) { crash = failure; }};

  // Runs `task` to its end together with whatever the group holds.
  template <typename T>
  T run(Task<T> task) {
    std::optional<T> result;
    asio::co_spawn(io, std::move(task), [&](std::exception_ptr failure, T value) {
      crash = failure;
      result = std::move(value);
    });
    io.run();
    io.restart();
    return std::move(result).value();
  }
};

Task<void> sleep_long(bool& cancelled) { cancelled = !co_await pause(1h); }
Task<void> finish_at_once() { co_return; }
Task<void> crash_at_once() {
  throw std::logic_error("boom");
  co_return;
}

TEST(TaskGroup, JoinWaitsForEveryTask) {
  Loop loop;
  loop.group.spawn(finish_at_once());
  loop.group.spawn(finish_at_once());
  EXPECT_EQ(loop.group.size(), 2U);
  EXPECT_TRUE(loop.run(loop.group.join(1h)));
  EXPECT_EQ(loop.group.size(), 0U);
}

TEST(TaskGroup, ATaskMayBeCancelledBeforeItBegan) {
  Loop loop;
  bool cancelled = false;
  loop.group.spawn(sleep_long(cancelled));
  loop.group.spawn(finish_at_once());
  loop.group.cancel_all();
  EXPECT_TRUE(loop.run(loop.group.join(1h)));
  EXPECT_FALSE(loop.crash);
}

Task<bool> cancel_then_join(TaskGroup& group) {
  group.cancel_all();
  co_return co_await group.join(1h);
}

TEST(TaskGroup, CancelReachesATaskThatWaits) {
  Loop loop;
  bool cancelled = false;
  loop.group.spawn(sleep_long(cancelled));
  loop.io.poll();  // lets the task reach its wait
  EXPECT_TRUE(loop.run(cancel_then_join(loop.group)));
  EXPECT_TRUE(cancelled);
}

Task<void> ignore_cancellation(int& turns) {
  for (;;) {
    ++turns;
    co_await pause(1h);
  }
}

TEST(TaskGroup, ACancelledTaskUnwindsAtItsNextWait) {
  Loop loop;
  int turns = 0;
  loop.group.spawn(ignore_cancellation(turns));
  loop.io.poll();
  EXPECT_TRUE(loop.run(cancel_then_join(loop.group)));
  EXPECT_EQ(turns, 2);
  EXPECT_FALSE(loop.crash) << "a cancelled task is no crash";
}

TEST(TaskGroup, AnEscapedExceptionIsReported) {
  Loop loop;
  loop.group.spawn(crash_at_once());
  loop.io.run();
  EXPECT_THROW(std::rethrow_exception(loop.crash), std::logic_error);
}

Task<bool> join_after_zero_time(TaskGroup& group) { co_return co_await group.join(0s); }

TEST(TaskGroup, JoinStopsAtItsDeadline) {
  Loop loop;
  bool cancelled = false;
  loop.group.spawn(sleep_long(cancelled));
  std::optional<bool> joined;
  asio::co_spawn(loop.io, join_after_zero_time(loop.group), [&](std::exception_ptr, bool value) {
    joined = value;
    loop.group.cancel_all();
  });
  loop.io.run();
  EXPECT_EQ(joined, false);
}

Task<int> slow_value() { co_return co_await pause(1h) ? 1 : 2; }
Task<int> quick_value() { co_return 3; }

TEST(Deadline, GivesTheValueOrNothing) {
  Loop loop;
  EXPECT_EQ(loop.run(within(1h, quick_value())), 3);
  EXPECT_EQ(loop.run(within(0s, slow_value())), std::nullopt);
}

}  // namespace
}  // namespace hearth::rt
