#pragma once
// Whether an engine that failed may be tried again, and when. Pure: time is a parameter.
//
// After the first failure the next start waits 1 s from it, after the second 4 s; after the third in a row the circuit
// opens and nothing is tried for 30 s; then one try is let through, and its failure opens the circuit for twice as
// long, up to 10 minutes. Rejected: opening on a rate, which a model that is asked once an hour would never reach.
#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace hearth::engine {

struct CircuitLimits {
  std::vector<std::chrono::milliseconds> waits = {std::chrono::seconds(1), std::chrono::seconds(4)};  // one per failure
  std::chrono::milliseconds open_for = std::chrono::seconds(30);  // after one failure more than there are waits
  std::chrono::milliseconds open_at_most = std::chrono::minutes(10);
};

class Circuit {
 public:
  explicit Circuit(CircuitLimits limits) : limits_(std::move(limits)) {}

  // When the next start may begin: at once when empty or past. Open: nobody should wait for it, they are refused
  // instead.
  struct Verdict {
    bool open = false;
    std::optional<base::Mono> at;
  };
  [[nodiscard]] Verdict ask(base::Mono now) const {
    if (failures_ == 0) return {};
    const auto at = last_failure_ + hold();
    if (at <= now) return {};
    return {failures_ > limits_.waits.size(), at};
  }

  void failed(base::Mono now) {
    last_failure_ = now;
    ++failures_;
  }
  // It served a request, or lived long: what failed before does not count any more.
  void proven() { failures_ = 0; }
  [[nodiscard]] std::size_t failures_in_a_row() const { return failures_; }

 private:
  [[nodiscard]] std::chrono::milliseconds hold() const {
    if (failures_ <= limits_.waits.size()) return limits_.waits[failures_ - 1];
    auto hold = limits_.open_for;
    for (auto i = limits_.waits.size() + 1; i < failures_ && hold < limits_.open_at_most; ++i)
      hold *= 2;
    return std::min(hold, limits_.open_at_most);
  }

  CircuitLimits limits_;
  std::size_t failures_ = 0;
  base::Mono last_failure_;
};

}  // namespace hearth::engine
