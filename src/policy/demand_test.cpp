#include "policy/demand.h"

#include <gtest/gtest.h>

#include "policy/schedule.h"
#include "policy/test_models.h"

namespace hearth::policy {
namespace {

using namespace std::chrono_literals;
using test::id_of;

// Minutes since Monday 00:00 of the first week.
Moment minute(double minutes) {
  return {
      base::Mono(std::chrono::duration_cast<base::Duration>(std::chrono::duration<double, std::ratio<60>>(minutes))),
      static_cast<std::int64_t>(minutes)};
}
constexpr double kDay = 24 * 60;

void use(Demand& demand, double minutes) {
  demand.request_began(minute(minutes), {});
  demand.request_ended(minute(minutes + 0.1));
}

TEST(Demand, AFreshOneExpectsNothing) {
  const Demand demand;
  EXPECT_EQ(demand.reuse(minute(0), 30min), 0);
  EXPECT_FALSE(demand.window({}).known);
  EXPECT_FALSE(demand.next_prewarm(minute(0), {}).has_value());
}

TEST(Demand, RegularGapsGiveAWindow) {
  Demand demand;
  for (int i = 0; i < 50; ++i)
    use(demand, 30.0 * i);
  const auto window = demand.window({});
  ASSERT_TRUE(window.known);
  // Every gap is 29.9 minutes: pre-warm at 29 less a tenth, keep until 30 plus a tenth.
  EXPECT_EQ(window.prewarm, std::chrono::duration_cast<base::Duration>(29min * 0.9));
  EXPECT_EQ(window.keep, std::chrono::duration_cast<base::Duration>(30min * 1.1));
  const auto next = demand.next_prewarm(minute(49 * 30 + 1), {});
  ASSERT_TRUE(next);
  EXPECT_NEAR(std::chrono::duration<double>(*next - minute(49 * 30).at).count(), 26.2 * 60, 30);
}

TEST(Demand, GapsWithoutShapeGiveNone) {
  Demand demand;
  double at = 0;
  for (int i = 0; i < 480; ++i)
    use(demand, at += 1 + (i * 7) % 240);
  EXPECT_FALSE(demand.window({}).known);
}

TEST(Demand, ReuseFallsAsAGapOutgrowsWhatIsUsual) {
  Demand demand;
  double at = 100;
  for (int burst = 0; burst < 20; ++burst) {
    for (int i = 0; i < 10; ++i)
      use(demand, at += 1);
    at += 700;
  }
  const double just_used = demand.reuse(minute(at - 700 + 1), 5min);
  const double long_idle = demand.reuse(minute(at - 700 + 60), 5min);
  EXPECT_GT(just_used, 0.8);
  EXPECT_LT(long_idle, 0.4);
}

TEST(Demand, LearnsTheHoursOfTheWeek) {
  Demand demand;
  for (int week = 0; week < 4; ++week)
    use(demand, week * 7 * kDay + kDay + 7 * 60 + 20);  // Tuesdays 07:20
  const double tuesday = 4 * 7 * kDay + kDay;
  // Four of four weeks, leaning on the other days, on which nobody came at that hour.
  EXPECT_GT(demand.reuse(minute(tuesday + 7 * 60), 60min), 0.5);
  // Not nothing: it has been idle for a week and five hours, and gaps of a week are told apart by a day only.
  EXPECT_LT(demand.reuse(minute(tuesday + 12 * 60), 60min), 0.15);
  const auto next = demand.next_prewarm(minute(tuesday + 5 * 60 + 30), {});
  ASSERT_TRUE(next);
  EXPECT_EQ(*next, minute(tuesday + 7 * 60).at);
}

TEST(Demand, AnHourLeansOnTheSameHourOfLikeDays) {
  Demand demand;
  for (const int day : {0, 1, 2})
    use(demand, day * kDay + 7 * 60 + 20);  // Monday to Wednesday
  const double thursday = demand.reuse(minute(3 * kDay + 7 * 60), 60min);
  EXPECT_GT(thursday, 0.2);
  EXPECT_LT(demand.reuse(minute(5 * kDay + 7 * 60), 60min), thursday) << "a Saturday is less like them";
  EXPECT_LT(demand.reuse(minute(3 * kDay + 15 * 60), 60min), 0.05);
}

TEST(Demand, WhoIsRegularIsExpectedWhenItIsDue) {
  Demand hourly;
  Demand irregular;
  for (int i = 0; i < 24; ++i) {
    use(hourly, 60.0 * i);
    use(irregular, 60.0 * i + (i * 17) % 45);
  }
  EXPECT_GT(hourly.reuse(minute(23 * 60 + 55), 10min), 0.6);
  EXPECT_GT(hourly.reuse(minute(23 * 60 + 55), 10min), hourly.reuse(minute(23 * 60 + 20), 10min) + 0.15);
  EXPECT_LT(irregular.reuse(minute(23 * 60 + 35 + 55), 10min), 0.7);
}

TEST(Demand, WasteStopsPrewarmsUntilAUseEarnsOneBack) {
  Demand demand;
  const DemandConfig config;
  EXPECT_TRUE(demand.may_prewarm(config));
  for (std::size_t i = 0; i < config.most_wasted_in_a_row; ++i)
    demand.prewarm_wasted();
  EXPECT_FALSE(demand.may_prewarm(config));
  use(demand, 0);
  EXPECT_TRUE(demand.may_prewarm(config));
}

TEST(Demand, WasteStaysWithinItsShare) {
  Demand demand;
  const DemandConfig config;
  int prewarms = 0;
  for (int i = 0; i < 1000; ++i) {
    use(demand, i);
    if (!demand.may_prewarm(config)) continue;
    ++prewarms;
    if (i % 2 == 0) {
      demand.prewarm_wasted();
    } else {
      demand.prewarm_hit();
    }
  }
  EXPECT_LE(static_cast<double>(demand.wasted()), config.most_waste * prewarms + 4);
}

TEST(Demand, WhatItLearntSurvives) {
  Demand demand;
  for (int i = 0; i < 50; ++i)
    use(demand, 30.0 * i);
  const Demand restored = Demand::restored(demand.state());
  EXPECT_EQ(restored.state(), demand.state());
  EXPECT_TRUE(restored.window({}).known);
}

TEST(Demand, CountsManyRequestsAtOnceAsOneUse) {
  Demand demand;
  demand.request_began(minute(0), {});
  demand.request_began(minute(1), {});
  demand.request_ended(minute(2));
  EXPECT_EQ(demand.reuse(minute(3), 1min), 1) << "one still runs";
  demand.request_ended(minute(3));
  EXPECT_LT(demand.reuse(minute(4), 1min), 1);
}

TEST(Schedule, IsReadAsPeopleWriteIt) {
  const auto parsed = config::parse_schedule("weekdays 06:45: voice resident");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->service_class, domain::ServiceClass::voice);
  EXPECT_EQ(parsed->from_minute, 6 * 60 + 45);
  EXPECT_EQ(parsed->minutes, 60);
  const auto model = config::parse_schedule("  sat,sun  22:00-01:30:  qwen3-4b:q4_k_m resident");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->model, id_of("qwen3-4b:q4_k_m"));
  EXPECT_EQ(model->minutes, 210);
  for (const auto* wrong : {"", "weekdays", "someday 06:45: voice resident", "weekdays 6:45: voice resident",
                            "weekdays 24:00: voice resident", "weekdays 06:45 voice resident", "weekdays 06:45: voice",
                            "weekdays 06:45: voice warm", "daily 06:00-06:00: voice resident",
                            "mon, 06:00: voice resident", "daily 06:00: ../x resident"})
    EXPECT_FALSE(config::parse_schedule(wrong)) << wrong;
}

TEST(Schedule, HoldsFromItsTimeUntilItsEnd) {
  const std::vector<Schedule> schedules = {config::parse_schedule("weekdays 06:45-08:00: voice resident").value(),
                                           config::parse_schedule("sun 23:00-02:00: chat resident").value()};
  const auto voice = [&](double minutes) {
    return scheduled(schedules, id_of("assistant"), domain::ServiceClass::voice, minute(minutes));
  };
  EXPECT_FALSE(voice(6 * 60 + 44).active);
  EXPECT_EQ(voice(6 * 60 + 44).next, minute(6 * 60 + 45).at);
  EXPECT_TRUE(voice(6 * 60 + 45).active);
  EXPECT_EQ(voice(7 * 60).until, minute(8 * 60).at);
  EXPECT_FALSE(voice(8 * 60).active);
  EXPECT_FALSE(voice(5 * kDay + 7 * 60).active) << "Saturday";
  EXPECT_EQ(voice(5 * kDay + 7 * 60).next, minute(7 * kDay + 6 * 60 + 45).at);
  const auto chat = scheduled(schedules, id_of("chat"), domain::ServiceClass::interactive, minute(7 * kDay + 60));
  EXPECT_TRUE(chat.active) << "it goes on past midnight, into the next week";
}

}  // namespace
}  // namespace hearth::policy
