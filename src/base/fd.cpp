#include "base/fd.h"

#include <unistd.h>

namespace hearth::base {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Fd::reset() {
  // close() is not retried on EINTR: on Linux the descriptor is gone either way.
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

}  // namespace hearth::base
