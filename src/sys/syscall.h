#pragma once
// A system call that a signal interrupted is made again.
#include <cerrno>

namespace hearth::sys {

template <typename F>
[[nodiscard]] auto retry_interrupted(F call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

}  // namespace hearth::sys
