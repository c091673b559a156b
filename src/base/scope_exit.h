#pragma once
// Runs a function when the scope is left, unless released. The function must not throw.
#include <utility>

namespace hearth::base {

template <typename F>
class [[nodiscard]] ScopeExit {
 public:
  explicit ScopeExit(F action) : action_(std::move(action)) {}
  ScopeExit(const ScopeExit&) = delete;
  ScopeExit& operator=(const ScopeExit&) = delete;
  ~ScopeExit() {
    if (armed_) action_();
  }
  void release() { armed_ = false; }

 private:
  F action_;
  bool armed_ = true;
};

}  // namespace hearth::base
