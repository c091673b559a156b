#include "policy/packed_eviction.h"

#include <gtest/gtest.h>

namespace hearth::policy {
namespace {

using std::chrono::hours;

const base::Wall kNow{std::chrono::milliseconds(1'700'000'000'000)};

PackedItem item(std::string key, base::Bytes bytes, std::optional<double> pack_ms, hours idle, bool in_use = false) {
  return {std::move(key), bytes, pack_ms, kNow - idle, in_use};
}

std::vector<std::string> keys(const std::vector<PackedVictim>& victims) {
  std::vector<std::string> names;
  for (const auto& victim : victims)
    names.push_back(victim.key);
  return names;
}

using Keys = std::vector<std::string>;

TEST(PackedEviction, NothingGoesWhileAllFits) {
  EXPECT_TRUE(choose_packed_victims({item("a", 600, 10, hours(0)), item("b", 400, 10, hours(0))}, 1000, kNow).empty());
  EXPECT_TRUE(choose_packed_victims({}, 0, kNow).empty());
}

TEST(PackedEviction, WhatSavesLeastForItsSizeGoesFirst) {
  const std::vector items = {item("dear", 500, 5000, hours(1)), item("cheap", 500, 100, hours(1)),
                             item("middle", 500, 1000, hours(1))};
  EXPECT_EQ(keys(choose_packed_victims(items, 1000, kNow)), Keys{"cheap"});
  EXPECT_EQ(keys(choose_packed_victims(items, 600, kNow)), (Keys{"cheap", "middle"}));
}

TEST(PackedEviction, WhatWasNotUsedForLongIsWorthLess) {
  EXPECT_EQ(
      keys(choose_packed_victims({item("old", 500, 1000, hours(24 * 60)), item("new", 500, 500, hours(1))}, 600, kNow)),
      Keys{"old"});
  EXPECT_DOUBLE_EQ(packed_worth(item("a", 100, 200, hours(24 * 7)), kNow), 1.0);
  EXPECT_DOUBLE_EQ(packed_worth(item("a", 100, 200, hours(-5)), kNow), 2.0);  // a clock that was set back
}

TEST(PackedEviction, WhatIsInUseStaysEvenWhenItDoesNotFit) {
  EXPECT_EQ(keys(choose_packed_victims({item("used", 900, 1, hours(999), true), item("free", 200, 9999, hours(0))}, 500,
                                       kNow)),
            Keys{"free"});
}

TEST(PackedEviction, TheReasonHasTheNumbers) {
  const auto victims = choose_packed_victims({item("a", 3'000'000'000, std::nullopt, hours(48))}, 1'000'000'000, kNow);
  ASSERT_EQ(victims.size(), 1U);
  EXPECT_NE(victims[0].why.find("3"), std::string::npos);
  EXPECT_NE(victims[0].why.find("2.0 days"), std::string::npos);
}

}  // namespace
}  // namespace hearth::policy
