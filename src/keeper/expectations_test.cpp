// What is expected when: by a schedule, by the gaps between uses, by the hours of the week.
#include "keeper/expectations.h"

#include <gtest/gtest.h>

#include "sys/fake_machine.h"
#include "tests/support/manual_clock.h"

namespace hearth::keeper {
namespace {

using domain::KeepSource;
using domain::ServiceClass;
using namespace std::chrono_literals;

class ExpectationsTest : public testing::Test {
 protected:
  static constexpr base::Duration kLead = 30s;
  static domain::ModelId id(std::string_view name) { return domain::ModelId::parse(name).value(); }

  // To that time of that day, 0 for Monday, in UTC; of the next week where it is over.
  void go_to(int day, int hour, int minute = 0) {
    const auto week = std::chrono::minutes(policy::kMinutesPerWeek);
    const auto now = std::chrono::minutes(demands.calendar().now().local_minute % policy::kMinutesPerWeek) +
                     clock.wall().time_since_epoch() % 1min;
    const auto then = 24h * day + std::chrono::hours(hour) + std::chrono::minutes(minute);
    clock.advance(then >= now ? then - now : then - now + week);
  }
  Expectations with(std::vector<std::string> schedules = {}, bool learn = true) {
    std::vector<policy::Schedule> parsed;
    for (const auto& text : schedules)
      parsed.push_back(config::parse_schedule(text).value());
    return {demands, parsed, learn};
  }
  void use(Expectations& expectations, base::Duration lasting = 2s) {
    demands.use_began(id("a"));
    (void)expectations.used(id("a"));
    clock.advance(lasting);
    demands.use_ended(id("a"));
  }
  std::optional<Expectation> look(Expectations& expectations, ServiceClass service_class = ServiceClass::interactive) {
    return expectations.look(id("a"), service_class, kLead);
  }

  test::ManualClock clock;
  sys::FakeTimeZone zone;
  Demands demands{{clock, &zone}, {}};
};

TEST_F(ExpectationsTest, AScheduleBeginsSoEarlyThatALoadIsDoneInTime) {
  auto expectations = with({"weekdays 06:45: voice resident"});
  go_to(2, 6, 44);
  EXPECT_FALSE(look(expectations, ServiceClass::voice));
  clock.advance(31s);
  const auto expected = look(expectations, ServiceClass::voice);
  ASSERT_TRUE(expected);
  EXPECT_EQ(expected->source, KeepSource::schedule);
  EXPECT_EQ(expected->why, "weekdays 06:45: voice resident");
  EXPECT_FALSE(look(expectations, ServiceClass::interactive)) << "it is of another class";
  clock.advance(1h);
  EXPECT_FALSE(look(expectations, ServiceClass::voice)) << "it lasts an hour";
  go_to(5, 6, 50);
  EXPECT_FALSE(look(expectations, ServiceClass::voice)) << "Saturday";
}

TEST_F(ExpectationsTest, AScheduleIsReadByTheClockInTheKitchen) {
  auto expectations = with({"daily 06:45: a resident"});
  zone.before = 2h;
  go_to(2, 6, 50);  // moves by the local time
  ASSERT_EQ(demands.calendar().now().local_minute % 1440, 6 * 60 + 50);
  EXPECT_TRUE(look(expectations));
  zone.changes_at = clock.wall() + 12h;
  zone.after = 1h;
  clock.advance(24h);
  EXPECT_EQ(demands.calendar().now().local_minute % 1440, 5 * 60 + 50) << "the clocks went back";
  EXPECT_FALSE(look(expectations));
  clock.advance(1h);
  EXPECT_TRUE(look(expectations));
}

TEST_F(ExpectationsTest, ATimeThatTheClocksSkipIsNotSkipped) {
  auto expectations = with({"daily 02:30: a resident"});
  go_to(6, 1, 59);
  zone.changes_at = clock.wall() + 1min;
  zone.after = 1h;
  EXPECT_FALSE(look(expectations));
  clock.advance(1min);
  ASSERT_EQ(demands.calendar().now().local_minute % 1440, 3 * 60);
  EXPECT_TRUE(look(expectations));
}

TEST_F(ExpectationsTest, WhoeverTellsAModelToGoIsObeyedUntilItIsUsedOrTheScheduleBeginsAnew) {
  auto expectations = with({"daily 06:00-08:00: a resident"});
  go_to(2, 6);
  EXPECT_TRUE(look(expectations));
  expectations.told_to_go(id("a"));
  clock.advance(10min);
  EXPECT_FALSE(look(expectations));
  use(expectations);
  EXPECT_TRUE(look(expectations));
  expectations.told_to_go(id("a"));
  clock.advance(12h);
  EXPECT_FALSE(look(expectations));
  go_to(3, 6);
  EXPECT_TRUE(look(expectations));
}

TEST_F(ExpectationsTest, RegularGapsAreExpectedToEndAsTheyDid) {
  auto expectations = with();
  for (int count = 0; count < 20; ++count) {
    use(expectations);
    EXPECT_FALSE(count < 5 && look(expectations)) << "a few gaps say nothing";
    clock.advance(60min);
  }
  use(expectations);
  EXPECT_FALSE(look(expectations)) << "it was used just now";
  clock.advance(50min);
  EXPECT_FALSE(look(expectations));
  clock.advance(5min);  // the 5th percentile less 10 %: 54 min
  const auto expected = look(expectations);
  ASSERT_TRUE(expected);
  EXPECT_EQ(expected->source, KeepSource::demand);
  EXPECT_NEAR(base::to_ms(expected->until - clock.now()) / 60'000, 61 * 1.1 - 55, 0.5);
  clock.advance(13min);
  EXPECT_FALSE(look(expectations)) << "this gap is longer than any";
}

TEST_F(ExpectationsTest, AnHourOfTheWeekInWhichItIsUsedIsExpectedForThatHour) {
  auto expectations = with();
  for (int week = 0; week < 4; ++week) {
    go_to(1, 7, 10);
    use(expectations);
    clock.advance(24h);
    (void)look(expectations);
  }
  go_to(1, 6, 40);
  EXPECT_FALSE(look(expectations));
  for (int seconds = 0; seconds < 19 * 60; seconds += 15) {
    EXPECT_FALSE(look(expectations));
    clock.advance(15s);
  }
  clock.advance(45s);
  const auto expected = look(expectations);
  ASSERT_TRUE(expected);
  EXPECT_NEAR(base::to_ms(expected->until - clock.now()) / 60'000, 60, 2);
  clock.advance(59min);
  EXPECT_TRUE(look(expectations));
  clock.advance(3min);
  EXPECT_FALSE(look(expectations));
}

TEST_F(ExpectationsTest, NothingLearntCountsWhereThatIsTurnedOff) {
  auto expectations = with({}, false);
  for (int count = 0; count < 20; ++count) {
    use(expectations);
    clock.advance(60min);
  }
  EXPECT_FALSE(look(expectations));
  EXPECT_TRUE(expectations.idle());
}

TEST_F(ExpectationsTest, WhatBecameOfALoadIsCountedAndThreeInVainAreEnough) {
  auto expectations = with();
  use(expectations);
  const auto load = [&](KeepSource source) {
    expectations.warmed(id("a"), {.source = source, .until = clock.now() + 10min, .why = "learnt"});
  };
  load(KeepSource::demand);
  EXPECT_TRUE(expectations.waits_for_use(id("a")));
  EXPECT_FALSE(expectations.waited(id("a"), true));
  ASSERT_EQ(expectations.used(id("a"))->outcome, Expectations::Outcome::used);
  EXPECT_FALSE(expectations.used(id("a"))) << "once";
  for (int count = 0; count < 3; ++count) {
    EXPECT_TRUE(expectations.may_prewarm(id("a")));
    load(KeepSource::demand);
    clock.advance(11min);
    ASSERT_EQ(expectations.waited(id("a"), true)->outcome, Expectations::Outcome::wasted);
  }
  EXPECT_FALSE(expectations.may_prewarm(id("a")));
  load(KeepSource::schedule);
  EXPECT_EQ(expectations.waited(id("a"), false)->outcome, Expectations::Outcome::wasted) << "it was taken away";
  const auto view = expectations.describe(id("a"), ServiceClass::interactive, 30min, clock.wall());
  EXPECT_EQ(view.prewarms, 5U);
  EXPECT_EQ(view.used, 1U);
  EXPECT_EQ(view.wasted, 4U);
  EXPECT_EQ(demands.find(id("a"))->wasted(), 3U) << "the schedule's is no fault of what was learnt";
}

TEST_F(ExpectationsTest, ALoadForWhatWasLearntThatWasWastedDoesNotSilenceASchedule) {
  auto expectations = with({"daily 06:45: a resident"});
  go_to(2, 6, 30);
  expectations.warmed(id("a"), {.source = KeepSource::demand, .until = clock.now() + 30min, .why = "learnt"});
  ASSERT_TRUE(expectations.waited(id("a"), false)) << "it was taken away";
  clock.advance(16min);
  const auto expected = look(expectations);
  ASSERT_TRUE(expected);
  EXPECT_EQ(expected->source, KeepSource::schedule);
}

TEST_F(ExpectationsTest, CountsOfEarlierRunsGoOn) {
  auto expectations = with();
  use(expectations);
  for (const auto* what : {"prewarm", "prewarm_wasted", "prewarm", "prewarm_used", "evicted"}) {
    domain::Event event;
    event.what = what;
    event.by = owner_of(KeepSource::demand);
    expectations.count_before(id("a"), event);
  }
  const auto view = expectations.describe(id("a"), ServiceClass::interactive, 30min, clock.wall());
  EXPECT_EQ(view.prewarms, 2U);
  EXPECT_EQ(view.used, 1U);
  EXPECT_EQ(view.wasted, 1U);
  EXPECT_EQ(demands.find(id("a"))->hits(), 1U);
}

TEST_F(ExpectationsTest, TheNextTimeIsToldWithWhoSaysSo) {
  auto expectations = with({"weekdays 06:45: a resident"});
  go_to(2, 6, 15);
  const auto view = expectations.describe(id("a"), ServiceClass::interactive, 30min, clock.wall());
  EXPECT_EQ(view.why, "weekdays 06:45: a resident");
  EXPECT_EQ(view.next, clock.wall() + 30min);
  EXPECT_FALSE(expectations.describe(id("b"), ServiceClass::interactive, 30min, clock.wall()).next);
}

}  // namespace
}  // namespace hearth::keeper
