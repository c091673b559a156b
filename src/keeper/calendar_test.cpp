#include "keeper/calendar.h"

#include <gtest/gtest.h>

#include "sys/fake_machine.h"
#include "tests/support/manual_clock.h"

namespace hearth::keeper {
namespace {

using namespace std::chrono_literals;

class CalendarTest : public testing::Test {
 protected:
  test::ManualClock clock;  // 2023-11-14T22:13:20Z, a Tuesday
  sys::FakeTimeZone zone;
};

TEST_F(CalendarTest, TheWeekBeginsOnMondayInTheHouseholdsTime) {
  zone.before = 2h;
  const Calendar calendar(clock, &zone);
  EXPECT_EQ(calendar.now().local_minute % policy::kMinutesPerWeek, (2 * 24 + 0) * 60 + 13) << "Wednesday 00:13";
  EXPECT_EQ(calendar.now().at, clock.now());
  const Calendar utc(clock, nullptr);
  EXPECT_EQ(utc.now().local_minute % policy::kMinutesPerWeek, (1 * 24 + 22) * 60 + 13);
}

TEST_F(CalendarTest, AnHourOfTheWeekStaysWhereItIsWhenTheClocksChange) {
  zone.before = 2h;
  zone.changes_at = clock.wall() + 24h;
  zone.after = 1h;
  const Calendar calendar(clock, &zone);
  // The same time on the clock in the kitchen is an hour later a week on.
  EXPECT_EQ(calendar.at(clock.wall() + 24h * 7 + 1h).local_minute,
            calendar.now().local_minute + policy::kMinutesPerWeek);
  EXPECT_EQ(calendar.in(1min).at, clock.now() + 1min);
}

}  // namespace
}  // namespace hearth::keeper
