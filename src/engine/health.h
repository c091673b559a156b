#pragma once
// Asks an engine whether it is ready.
#include <chrono>
#include <string>

#include "rt/asio.h"

namespace hearth::engine {

enum class Health {
  silent,   // no HTTP answer: not listening yet, or too slow
  loading,  // it answers, and is not ready (503 of any kind)
  ready,    // 200
};

// One GET /health over the Unix socket, in at most `limit`. Never throws, never an error: an engine that cannot be
// asked is silent. Cancelling the caller gives `silent`.
[[nodiscard]] rt::Task<Health> ask_health(std::string socket_path, std::chrono::steady_clock::duration limit);

}  // namespace hearth::engine
