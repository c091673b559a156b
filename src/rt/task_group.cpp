#include "rt/task_group.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/multiple_exceptions.hpp>
#include <cassert>

namespace hearth::rt {

TaskGroup::TaskGroup(asio::any_io_executor executor, CrashHandler on_crash)
    : executor_(std::move(executor)), on_crash_(std::move(on_crash)), changed_(executor_) {}

TaskGroup::~TaskGroup() { assert(running_.empty() && "TaskGroup: join() before it goes"); }

namespace {

// A task that ends cancelled and without ever having waited would have Asio (1.81) throw the cancellation once more,
// past every handler.
Task<void> guarded(Task<void> task) {
  std::exception_ptr failure;
  try {
    co_await std::move(task);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

void TaskGroup::spawn(Task<void> task) {
  const auto self = running_.emplace(running_.end());
  asio::co_spawn(
      executor_, guarded(std::move(task)),
      asio::bind_cancellation_slot(self->slot(), [this, self](std::exception_ptr failure) { ended(self, failure); }));
}

namespace {

// How a cancelled coroutine unwinds: the wait after the cancellation throws this.
bool is_cancellation(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error& error) {
    return error.code() == asio::error::operation_aborted;
  } catch (const asio::multiple_exceptions& several) {  // from waits that ran in parallel
    return is_cancellation(several.first_exception());
  } catch (...) {
    return false;
  }
}

}  // namespace

void TaskGroup::ended(Signals::iterator task, std::exception_ptr failure) {
  running_.erase(task);
  if (failure && !is_cancellation(failure)) on_crash_(failure);
  changed_.notify_all();
}

void TaskGroup::cancel_all() {
  // A cancelled task may end at once and erase itself; step before emitting.
  for (auto task = running_.begin(); task != running_.end();)
    (task++)->emit(asio::cancellation_type::terminal);
}

Task<bool> TaskGroup::join(std::chrono::steady_clock::duration at_most) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (!running_.empty()) {
    if (!co_await changed_.wait_until(deadline)) co_return running_.empty();
  }
  co_return true;
}

}  // namespace hearth::rt
