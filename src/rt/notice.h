#pragma once
// A condition that coroutines wait for: notify_all() wakes everybody who waits at that moment. There is no memory: test
// your condition, wait, test again. Thread: the I/O thread only. Must outlive its waiters.
#include <chrono>

#include "rt/asio.h"

namespace hearth::rt {

class Notice {
 public:
  explicit Notice(const asio::any_io_executor& executor)
      : timer_(executor, std::chrono::steady_clock::time_point::max()) {}

  void notify_all() { timer_.cancel(); }

  // True when notified, false when the deadline passed or the wait was cancelled.
  [[nodiscard]] Task<bool> wait_until(std::chrono::steady_clock::time_point deadline);

 private:
  asio::steady_timer timer_;
};

}  // namespace hearth::rt
