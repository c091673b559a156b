#include "rt/watchdog.h"

#include <utility>

namespace hearth::rt {

Watchdog::Watchdog(const asio::any_io_executor& executor, std::chrono::steady_clock::duration limit,
                   std::function<void()> on_silence)
    : state_(std::make_shared<State>(asio::steady_timer(executor), limit / kTicks, std::move(on_silence))) {
  watch(state_);
}

Watchdog::~Watchdog() {
  state_->on_silence = nullptr;
  state_->timer.cancel();
}

// The first tick after a sign of life covers only a part of its time, so one more than kTicks must pass.
void Watchdog::watch(const std::shared_ptr<State>& state) {
  state->timer.expires_after(state->tick);
  state->timer.async_wait([state](error_code error) {
    if (error || !state->on_silence) return;
    if (++state->silent_ticks <= kTicks) return watch(state);
    std::exchange(state->on_silence, nullptr)();
  });
}

}  // namespace hearth::rt
