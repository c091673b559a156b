// One contract for the machine's zone and the one in memory: the end of daylight saving time in 2023 in Berlin.
#include "sys/time_zone.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "sys/fake_machine.h"

namespace hearth::sys {
namespace {

using namespace std::chrono_literals;

const base::Wall kEnd{1'698'541'200s};  // 2023-10-29T01:00:00Z

void expect_berlin(const TimeZone& zone) {
  EXPECT_EQ(zone.offset_at(kEnd - 1s), 2h);
  EXPECT_EQ(zone.offset_at(kEnd), 1h);
  EXPECT_EQ(zone.offset_at(kEnd + 24h * 30), 1h);
}

TEST(TimeZoneTest, TheMachinesZoneKnowsDaylightSaving) {
  const char* before = std::getenv("TZ");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
  expect_berlin(LinuxTimeZone());
  if (before == nullptr)
    ::unsetenv("TZ");
  else
    ::setenv("TZ", kept.c_str(), 1);
  ::tzset();
}

TEST(TimeZoneTest, SoDoesTheOneInMemory) {
  FakeTimeZone zone;
  zone.before = 2h;
  zone.changes_at = kEnd;
  zone.after = 1h;
  expect_berlin(zone);
}

}  // namespace
}  // namespace hearth::sys
