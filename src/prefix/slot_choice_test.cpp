#include "prefix/slot_choice.h"

#include <gtest/gtest.h>

namespace hearth::prefix {
namespace {

TEST(SlotChoice, AConversationGoesBackToItsSlot) {
  const std::vector<SlotView> slots = {{.held = 6000, .common = 5900, .last_used = 2},
                                       {.held = 6400, .common = 6400, .last_used = 1}};
  EXPECT_EQ(choose_slot(slots, 6500, 0, 0.5)->slot, 1U);
}

TEST(SlotChoice, ASecondConversationLeavesTheFirstOneAloneWhereItsHeaderCanBeRestored) {
  const std::vector<SlotView> slots = {{.held = 9000, .common = 5900, .last_used = 2},
                                       {.held = 0, .common = 0, .last_used = 0}};
  EXPECT_EQ(choose_slot(slots, 6000, 5900, 0.5)->slot, 1U);
  EXPECT_EQ(choose_slot(slots, 6000, 0, 0.5)->slot, 0U) << "evaluating the header again would cost more than the tail";
}

TEST(SlotChoice, NobodyEvenComesBackForACommand) {
  const std::vector<SlotView> slots = {{.held = 5950, .common = 5900, .last_used = 2},
                                       {.held = 9000, .common = 0, .last_used = 1}};
  EXPECT_EQ(choose_slot(slots, 5960, 5900, 0.1)->slot, 0U);
}

TEST(SlotChoice, BusySlotsAreLeftOutAndTheOldestOfEqualsIsTaken) {
  std::vector<SlotView> slots = {{.busy = true, .held = 100, .common = 100}, {.last_used = 9}, {.last_used = 3}};
  EXPECT_EQ(choose_slot(slots, 200, 0, 0.5)->slot, 2U);
  for (auto& slot : slots)
    slot.busy = true;
  EXPECT_FALSE(choose_slot(slots, 200, 0, 0.5));
}

TEST(SlotChoice, TailsAreNeededAsOftenAsTheyWere) {
  EXPECT_DOUBLE_EQ(tail_need(0, 0), 0.5);
  EXPECT_LT(tail_need(0, 50), 0.05);
  EXPECT_GT(tail_need(40, 50), 0.7);
}

}  // namespace
}  // namespace hearth::prefix
