#include "base/clock.h"

#include <gtest/gtest.h>

namespace hearth::base {
namespace {

TEST(Clock, WritesInstantsAsRfc3339) {
  const Wall instant{std::chrono::milliseconds(1'700'000'000'045)};
  EXPECT_EQ(rfc3339(instant), "2023-11-14T22:13:20.045Z");
}

TEST(Clock, InstantsBeforeTheEpochRoundDown) {
  EXPECT_EQ(rfc3339(Wall{std::chrono::milliseconds(-1)}), "1969-12-31T23:59:59.999Z");
}

TEST(Clock, MillisecondsKeepTheirFraction) { EXPECT_DOUBLE_EQ(to_ms(std::chrono::microseconds(1500)), 1.5); }

}  // namespace
}  // namespace hearth::base
