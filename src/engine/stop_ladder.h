#pragma once
// Stops a child for certain, or says that it could not: ask, wait, kill, wait.
#include <chrono>

#include "engine/child.h"

namespace hearth::engine {

struct StopLimits {
  std::chrono::milliseconds asked{2500};   // after SIGTERM; llama-server with an open stream needs up to 1.6 s
  std::chrono::milliseconds killed{5000};  // after SIGKILL; longer only in an uninterruptible system call
};

enum class Stopped { asked, killed, stuck };

// Close every connection to the engine first: one with a request in flight keeps it from ending when asked. The child's
// run() must be running. Takes at most both limits together; `stuck`: the process is still there, and will be gone when
// the kernel lets go of it.
[[nodiscard]] rt::Task<Stopped> stop_child(Child& child, StopLimits limits);

}  // namespace hearth::engine
