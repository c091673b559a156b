#include "policy/pressure.h"

#include <gtest/gtest.h>

#include "policy/test_models.h"
#include "policy/warming.h"

namespace hearth::policy {
namespace {

using domain::ServiceClass;
using test::at;
using test::kGB;
using test::model_of;

struct Scene {
  std::vector<Held> models = {model_of("likely", 4), model_of("unlikely", 4)};
  PressureMemory memory;
  base::Bytes reserve = kGB;

  Scene() {
    models[0].reuse = 0.9;
    models[1].reuse = 0.1;
  }
  PressureDecision judge(const PressureReading& reading, double s = 0) {
    return judge_pressure(reading, reserve, models, memory, {}, {}, at(s));
  }
};

TEST(Pressure, WithoutSignalsThereIsNone) {
  Scene scene;
  EXPECT_EQ(scene.judge({}).level, PressureLevel::calm);
  EXPECT_TRUE(scene.judge({}).may_grow);
}

TEST(Pressure, AMissingReserveIsGivenBackByThePolicysOrder) {
  Scene scene;
  const auto decision = scene.judge({.available = kGB * 6 / 10});
  EXPECT_EQ(decision.level, PressureLevel::high);
  EXPECT_GE(decision.give_back.host(), kGB * 4 / 10);
  ASSERT_EQ(decision.plan.demotions.size(), 1U);
  EXPECT_EQ(decision.plan.demotions[0].id.text(), "unlikely");
  EXPECT_NE(decision.reason.find("400 MB of the reserve are missing"), std::string::npos) << decision.reason;
}

TEST(Pressure, EachSignalCountsByItself) {
  for (const PressureReading& reading : {PressureReading{.psi_some_avg10 = 12}, PressureReading{.swap_in_per_s = 5e6},
                                         PressureReading{.refaults_per_s = 9000}}) {
    Scene scene;
    const auto decision = scene.judge(reading);
    EXPECT_EQ(decision.level, PressureLevel::high);
    EXPECT_FALSE(decision.give_back.empty()) << decision.reason;
    EXPECT_FALSE(decision.may_grow);
  }
}

TEST(Pressure, WhatOthersWaitForWhileTheMachineLacksNothingIsNone) {
  Scene scene;
  PressureReading reading{.psi_some_avg10 = 90, .swap_in_per_s = 5e6, .refaults_per_s = 9000};
  reading.reclaim_scans_per_s = 0;
  EXPECT_EQ(scene.judge(reading).level, PressureLevel::calm);
  EXPECT_TRUE(scene.judge(reading).may_grow);
  reading.available = kGB * 6 / 10;
  EXPECT_EQ(scene.judge(reading).level, PressureLevel::high) << "the reserve is missing all the same";
  reading.available.reset();
  reading.reclaim_scans_per_s = 1;
  EXPECT_EQ(scene.judge(reading).level, PressureLevel::critical);
}

TEST(Pressure, WaitsForAGiveBackToShowAndThenGivesMore) {
  Scene scene;
  const PressureReading reading{.psi_some_avg10 = 12};
  EXPECT_FALSE(scene.judge(reading, 0).plan.demotions.empty());
  EXPECT_TRUE(scene.judge(reading, 2).plan.demotions.empty());
  EXPECT_FALSE(scene.judge(reading, 5).plan.demotions.empty());
  EXPECT_EQ(scene.memory.in_a_row, 2U);
}

TEST(Pressure, NeverTakesFromWhatIsInUse) {
  Scene scene;
  for (Held& model : scene.models)
    model.in_use = true;
  const auto decision = scene.judge({.psi_some_avg10 = 90});
  EXPECT_EQ(decision.level, PressureLevel::critical);
  EXPECT_TRUE(decision.plan.demotions.empty());
  EXPECT_NE(decision.reason.find("nothing idle is left"), std::string::npos);
}

TEST(Pressure, GrowthWaitsForCalm) {
  Scene scene;
  (void)scene.judge({.psi_some_avg10 = 12}, 0);
  EXPECT_FALSE(scene.judge({.psi_some_avg10 = 0}, 10).may_grow);
  EXPECT_TRUE(scene.judge({.psi_some_avg10 = 0}, 31).may_grow);
  EXPECT_EQ(scene.memory.in_a_row, 0U);
}

TEST(Thrashing, IsNamedWithTheSetToKeep) {
  std::vector<Held> models = {model_of("a", 5), model_of("b", 4), model_of("c", 5)};
  models[1].service_class = ServiceClass::voice;
  std::vector<Reload> reloads;
  for (int i = 0; i < 9; ++i)
    reloads.push_back({models[static_cast<std::size_t>(i) % 3].id, at(-i * 10), 4});
  const auto found = find_thrashing(reloads, models, Footprint::host(11 * kGB), {}, at(0));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->keep.front().text(), "b");
  EXPECT_EQ(found->sentence, "thrashing: these 3 models need 14.0 GB, 11.0 GB are there; keep 2 (b, a)");
  EXPECT_FALSE(find_thrashing(reloads, models, Footprint::host(14 * kGB), {}, at(0)).has_value()) << "all fit";
  EXPECT_FALSE(find_thrashing(reloads, models, Footprint::host(11 * kGB), {}, at(3600)).has_value()) << "long ago";
  for (auto& reload : reloads)
    reload.seconds = 0.2;
  EXPECT_FALSE(find_thrashing(reloads, models, Footprint::host(11 * kGB), {}, at(0)).has_value()) << "cheap";
}

TEST(Thrashing, TurnsAreAsLongAsLoadsAreWorth) {
  const PressureConfig config;
  EXPECT_EQ(thrashing_turn(0.2, config), std::chrono::milliseconds(600));
  EXPECT_EQ(thrashing_turn(1e9, config), config.longest_turn);
  EXPECT_EQ(thrashing_turn(-1, config), base::Duration::zero());
}

std::optional<Promotion> warm(const std::vector<Held>& models, double free_gb, std::vector<Expected> expected = {}) {
  expected.resize(models.size());
  return plan_warming(models, expected, Footprint::host(static_cast<base::Bytes>(free_gb * 1e9)), 0, {}, {}, at(0));
}

TEST(Warming, WarmsWhatIsLikelyIntoFreeMemory) {
  std::vector<Held> models = {model_of("a", 4, Rung::cold), model_of("b", 4, Rung::hibernated)};
  models[0].reuse = 0.1;
  models[1].reuse = 0.6;
  const auto promotion = warm(models, 10);
  ASSERT_TRUE(promotion);
  EXPECT_EQ(promotion->id.text(), "b");
  EXPECT_TRUE(promotion->demotions.empty());
}

TEST(Warming, DemotesOnlyWhatIsWorthLess) {
  std::vector<Held> models = {model_of("a", 4, Rung::hibernated), model_of("b", 4)};
  models[0].reuse = 0.8;
  models[1].reuse = 0.75;
  EXPECT_FALSE(warm(models, 0).has_value()) << "a tenth more is not enough of a difference";
  models[1].reuse = 0.2;
  const auto promotion = warm(models, 0);
  ASSERT_TRUE(promotion);
  EXPECT_EQ(promotion->demotions.at(0).id.text(), "b");
}

TEST(Warming, AScheduleNeedsNoProbabilityAndWasteForbidsGuesses) {
  std::vector<Held> models = {model_of("a", 4, Rung::cold)};
  models[0].reuse = 0;
  EXPECT_FALSE(warm(models, 10).has_value());
  EXPECT_TRUE(warm(models, 10, {{.scheduled = true, .may_prewarm = false}}).has_value());
  models[0].reuse = 0.9;
  EXPECT_FALSE(warm(models, 10, {{.scheduled = false, .may_prewarm = false}}).has_value());
  models[0].rung = Rung::hibernated;
  EXPECT_TRUE(warm(models, 10, {{.scheduled = false, .may_prewarm = false}}).has_value()) << "a wake is no load";
  EXPECT_FALSE(warm(models, 10, {{.candidate = false}}).has_value());
}

}  // namespace
}  // namespace hearth::policy
