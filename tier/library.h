// Life of the library inside its host: before main() / live / leaving, and the thread that serves the daemon.
//
// The library is live only when the daemon gave it a socket and speaks the same version. In every other process, and in
// every child made by fork, its hooks do nothing but call the real function.
#pragma once

#include <atomic>
#include <cstdint>

namespace hearth::tier {

enum class Life : int {
  kEarly,  // our constructor has not run
  kAside,  // nobody asked for us, another version, a forked child, or leaving
  kLive,
};

namespace detail {
extern std::atomic<Life> the_life;
}

[[nodiscard]] inline bool live() { return detail::the_life.load(std::memory_order_relaxed) == Life::kLive; }
[[nodiscard]] inline Life life() { return detail::the_life.load(std::memory_order_acquire); }

enum class Settle : std::uint64_t {
  kLoaded = 1,              // a model was loaded: buffers that are complete settle
  kComputed = 1ULL << 32U,  // the engine computes: every buffer settles, complete or not
};

/// Wakes the library's thread: buffers may be ready to settle. Async-signal-safe; any thread.
void request_settle(Settle why);

}  // namespace hearth::tier
