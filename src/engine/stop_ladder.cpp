#include "engine/stop_ladder.h"

#include <csignal>

namespace hearth::engine {

rt::Task<Stopped> stop_child(Child& child, StopLimits limits) {
  // No `if (co_await …) co_return …` here: GCC 12 lays the frame of such a function out wrong (first field before the
  // resume pointer), and it crashes.
  const base::Mono give_up_asking = std::chrono::steady_clock::now() + limits.asked;
  // A signal that cannot be sent leaves the process running, and the next rung, or `stuck`, tells it.
  (void)child.signal(SIGTERM);
  const bool listened = co_await child.wait_ended(give_up_asking);
  if (listened) co_return Stopped::asked;
  const base::Mono give_up = std::chrono::steady_clock::now() + limits.killed;
  (void)child.signal_group(SIGKILL);
  const bool died = co_await child.wait_ended(give_up);
  co_return died ? Stopped::killed : Stopped::stuck;
}

}  // namespace hearth::engine
