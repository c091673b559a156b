#include "keeper/demands.h"

#include <gtest/gtest.h>

#include <vector>

#include "sys/fake_machine.h"
#include "tests/support/manual_clock.h"

namespace hearth::keeper {
namespace {

using namespace std::chrono_literals;

class DemandsTest : public testing::Test {
 protected:
  static domain::ModelId id(std::string_view name) { return domain::ModelId::parse(name).value(); }

  test::ManualClock clock;  // 2023-11-14T22:13:20Z, a Tuesday
  sys::FakeTimeZone zone;
  policy::DemandConfig config;
};

TEST_F(DemandsTest, TheWeekBeginsOnMondayInTheHouseholdsTime) {
  zone.before = 2h;
  const Demands demands(clock, &zone, config);
  const auto minute = demands.moment().local_minute % policy::kMinutesPerWeek;
  EXPECT_EQ(minute, (2 * 24 + 0) * 60 + 13) << "Wednesday 00:13";
  EXPECT_EQ(demands.moment().at, clock.now());
  const Demands utc(clock, nullptr, config);
  EXPECT_EQ(utc.moment().local_minute % policy::kMinutesPerWeek, (1 * 24 + 22) * 60 + 13);
}

TEST_F(DemandsTest, AnHourOfTheWeekStaysWhereItIsWhenTheClocksChange) {
  zone.before = 2h;
  zone.changes_at = clock.wall() + 24h;
  zone.after = 1h;
  const Demands demands(clock, &zone, config);
  // The same time on the clock in the kitchen is an hour later a week on.
  const auto now = demands.moment().local_minute;
  EXPECT_EQ(demands.moment_at(clock.wall() + 24h * 7 + 1h).local_minute, now + policy::kMinutesPerWeek);
}

TEST_F(DemandsTest, WhatEarlierRunsSawCountsAsIfThisOneHad) {
  Demands live(clock, &zone, config);
  std::vector<Demands::Use> uses;
  for (int count = 0; count < 20; ++count) {
    uses.push_back({.began = clock.wall(), .lasted = 5s});
    live.use_began(id("a"));
    clock.advance(5s);
    live.use_ended(id("a"));
    clock.advance(20min);
  }
  Demands learnt(clock, &zone, config);
  learnt.learn(id("a"), uses);
  ASSERT_NE(learnt.find(id("a")), nullptr);
  EXPECT_EQ(learnt.find(id("a"))->state(), live.find(id("a"))->state());
  EXPECT_DOUBLE_EQ(learnt.reuse(id("a"), 30min), live.reuse(id("a"), 30min));
  EXPECT_DOUBLE_EQ(learnt.uses(id("a")), live.uses(id("a")));
  EXPECT_GT(learnt.reuse(id("a"), 30min), 0.7);
  EXPECT_EQ(learnt.reuse(id("b"), 30min), 0) << "nothing is known of it";
}

TEST_F(DemandsTest, UsesThatOverlapAreOneUse) {
  Demands demands(clock, &zone, config);
  const base::Wall began = clock.wall() - 1h;
  const std::vector<Demands::Use> uses = {{.began = began, .lasted = 10min}, {.began = began + 1min, .lasted = 1min}};
  demands.learn(id("a"), uses);
  EXPECT_EQ(demands.find(id("a"))->last_end(), clock.now() - 50min);
  EXPECT_EQ(demands.find(id("a"))->state().minutes[0], 0) << "there was no gap between them";
}

}  // namespace
}  // namespace hearth::keeper
