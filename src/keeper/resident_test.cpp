#include "keeper/resident.h"

#include <gtest/gtest.h>

namespace hearth::keeper {
namespace {

domain::EngineTimings prompt(std::int64_t tokens, double ms) { return {.prompt_tokens = tokens, .prompt_ms = ms}; }

// Nothing here asks its supervisor.
TEST(Resident, AWakeCostsWhatTheRequestWaitsLongerThanAWarmOne) {
  Resident resident(nullptr, 1);
  EXPECT_EQ(resident.typical_wake_s(), std::nullopt);
  resident.answered_woken(prompt(100, 500));  // how fast it is when warm is not known
  EXPECT_EQ(resident.typical_wake_s(), std::nullopt);
  resident.last_wake_s = 0.9;
  EXPECT_EQ(resident.typical_wake_s(), 0.9);
  resident.answered_warm(prompt(10, 1000));  // too short to tell
  resident.answered_warm(prompt(100, 200));
  resident.answered_woken(prompt(50, 400));
  EXPECT_EQ(resident.typical_wake_s(), 0.3);
  resident.answered_woken(prompt(50, 90));  // quicker than a warm one
  resident.answered_woken(prompt(50, 80));
  EXPECT_EQ(resident.typical_wake_s(), 0.0);
}

}  // namespace
}  // namespace hearth::keeper
