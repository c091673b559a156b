#pragma once
// Owns a set of coroutines, so that none is ever detached: they can be cancelled together and waited for.
//
// Thread: the I/O thread only. Lifetime: must outlive its tasks; call join() before it goes (checked). A task ends by
// returning or, once cancelled, by the operation_aborted that its next wait throws; any other exception that leaves a
// task is a programming error and is handed to the `on_crash` of the constructor. Cancel: cancel_all() asks every task
// (terminal cancellation, delivered at its current wait); join() then waits.
#include <exception>
#include <functional>
#include <list>
#include <memory>

#include "rt/asio.h"
#include "rt/notice.h"

namespace hearth::rt {

class TaskGroup {
 public:
  using CrashHandler = std::function<void(std::exception_ptr)>;
  TaskGroup(asio::any_io_executor executor, CrashHandler on_crash);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts `task` (a coroutine object already made: no captures that could dangle). It first runs at the next turn of
  // the loop. Cancellation reaches it through its own signal.
  void spawn(Task<void> task);
  void cancel_all();
  [[nodiscard]] std::size_t size() const { return running_.size(); }

  // Returns when no task is left, or at the deadline; true when none is left. Tasks spawned meanwhile count too.
  // Cancelling join() itself returns false.
  [[nodiscard]] Task<bool> join(std::chrono::steady_clock::duration at_most);

 private:
  using Signals = std::list<asio::cancellation_signal>;
  void ended(Signals::iterator task, std::exception_ptr failure);

  asio::any_io_executor executor_;
  CrashHandler on_crash_;
  Signals running_;
  Notice changed_;
};

}  // namespace hearth::rt
