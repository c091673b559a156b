#include "tools/make_model/progress.h"

#include <gtest/gtest.h>

namespace hearth::make_model {
namespace {

TEST(ProgressLine, SaysRateAndTimeLeft) {
  EXPECT_EQ(progress_line(300'000'000, 700'000'000, std::chrono::seconds(1)), "300 MB of 700 MB, 300 MB/s, 2 s left");
  EXPECT_EQ(progress_line(700, 700, std::chrono::seconds(7)), "700 B of 700 B, 100 B/s, 0 s left");
  EXPECT_EQ(progress_line(0, 700, std::chrono::seconds(7)), "0 B of 700 B, 0 B/s, 0 s left");
}

class SteppedClock final : public base::Clock {
 public:
  [[nodiscard]] base::Mono now() const override { return base::Mono(std::chrono::milliseconds(ms)); }
  [[nodiscard]] base::Wall wall() const override { return {}; }
  int ms = 0;
};

TEST(Progress, IsSilentForTwoSeconds) {
  SteppedClock clock;
  std::FILE* out = std::tmpfile();
  Progress progress(100, clock, out);
  clock.ms = 1900;
  progress.done(10);
  EXPECT_EQ(std::ftell(out), 0);
  clock.ms = 6000;
  progress.done(50);
  EXPECT_GT(std::ftell(out), 0);
  progress.finish();
  std::fclose(out);
}

}  // namespace
}  // namespace hearth::make_model
