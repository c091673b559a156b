#pragma once
// A clock that stands still until a test moves it.
#include "base/clock.h"

namespace hearth::test {

class ManualClock final : public base::Clock {
 public:
  [[nodiscard]] base::Mono now() const override { return now_; }
  [[nodiscard]] base::Wall wall() const override { return wall_; }
  void advance(base::Duration by) {
    now_ += by;
    wall_ += std::chrono::duration_cast<base::Wall::duration>(by);
  }

 private:
  base::Mono now_{std::chrono::hours(1)};
  base::Wall wall_{std::chrono::seconds(1'700'000'000)};
};

}  // namespace hearth::test
