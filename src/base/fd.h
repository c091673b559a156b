#pragma once
// An owned file descriptor. Move-only; closes when it goes. Not thread-safe; distinct objects are independent.
#include <utility>

namespace hearth::base {

class Fd {
 public:
  Fd() = default;
  // Takes ownership of `fd`; a negative number is the empty state.
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  // Gives the descriptor away without closing it.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

}  // namespace hearth::base
