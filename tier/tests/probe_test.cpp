#include "probe.h"

#include <gtest/gtest.h>

namespace hearth::tier {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

TEST(StepFilter, TellsPromptsAndTheFirstTokenAfterThem) {
  StepFilter steps;
  EXPECT_TRUE(steps.tells(20, 1000 * kMs, 1005 * kMs));
  EXPECT_TRUE(steps.tells(1, 1006 * kMs, 1007 * kMs));
  EXPECT_FALSE(steps.tells(1, 1008 * kMs, 1009 * kMs));
  EXPECT_TRUE(steps.tells(30, 1010 * kMs, 1015 * kMs));
}

TEST(StepFilter, TellsOneInAnIntervalOfALongRun) {
  StepFilter steps;
  int told = 0;
  for (std::uint64_t ms = 1000; ms < 3000; ms += 2)
    told += steps.tells(1, ms * kMs, (ms + 1) * kMs) ? 1 : 0;
  EXPECT_EQ(told, 4);
}

TEST(StepFilter, TellsWhateverTookLong) {
  StepFilter steps;
  (void)steps.tells(1, 1000 * kMs, 1001 * kMs);
  EXPECT_TRUE(steps.tells(1, 1002 * kMs, 1022 * kMs));
}

TEST(StepFilter, ThrottlesWhatHasNoCountToo) {
  StepFilter steps;
  EXPECT_TRUE(steps.tells(-1, 1000 * kMs, 1001 * kMs));
  EXPECT_FALSE(steps.tells(-1, 1002 * kMs, 1003 * kMs));
}

}  // namespace
}  // namespace hearth::tier
