#include "engine/stop_ladder.h"

#include <csignal>

namespace hearth::engine {

rt::Task<Stopped> stop_child(Child& child, StopLimits limits) {
  // A signal that cannot be sent leaves the process running, and the next rung, or `stuck`, tells it.
  (void)child.signal(SIGTERM);
  if (co_await child.wait_ended(std::chrono::steady_clock::now() + limits.asked)) co_return Stopped::asked;
  (void)child.signal_group(SIGKILL);
  if (co_await child.wait_ended(std::chrono::steady_clock::now() + limits.killed)) co_return Stopped::killed;
  co_return Stopped::stuck;
}

}  // namespace hearth::engine
