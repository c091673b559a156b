#pragma once
// Bounds how long nothing may happen on something that happens often. A timer for each read of a stream costs more than
// the read itself; here each sign of life is one store, and the timer is set four times within the limit.
//
// Thread: the I/O thread. `on_silence` is called there, once, between `limit` and 1.25 times `limit` after the last
// sign of life; never after the watchdog is gone.
#include <chrono>
#include <functional>
#include <memory>

#include "rt/asio.h"

namespace hearth::rt {

class Watchdog {
 public:
  // Begins to watch at once.
  Watchdog(const asio::any_io_executor& executor, std::chrono::steady_clock::duration limit,
           std::function<void()> on_silence);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // A sign of life.
  void touch() { state_->silent_ticks = 0; }

 private:
  static constexpr int kTicks = 4;
  struct State {
    asio::steady_timer timer;
    std::chrono::steady_clock::duration tick;
    std::function<void()> on_silence;
    int silent_ticks = 0;
  };
  static void watch(const std::shared_ptr<State>& state);

  // Shared with the timer's handler: one that is already on its way when the watchdog goes finds no callback.
  std::shared_ptr<State> state_;
};

}  // namespace hearth::rt
