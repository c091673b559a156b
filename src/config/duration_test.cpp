#include "config/duration.h"

#include <gtest/gtest.h>

#include <limits>

namespace hearth::config {
namespace {

TEST(Duration, ReadsWhatPeopleWrite) {
  const std::pair<const char*, long> cases[] = {
      {"30s", 30'000},     {"5m", 300'000},        {"1h30m", 5'400'000}, {"500ms", 500},
      {"1.5h", 5'400'000}, {"2d", 172'800'000},    {"90", 90'000},       {"0", 0},
      {" 1H ", 3'600'000}, {"1m30s500ms", 90'500}, {"0.25", 250}};
  for (const auto& [text, ms] : cases) {
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->count(), ms) << text;
  }
}

TEST(Duration, RefusesTheRest) {
  for (const char* text : {"", " ", "s", "5x", "-5m", "5m-3s", "1h 30m", "30s5", "1e9", "nan", "inf", "0x10", "5m\n6",
                           "11000d", "99999999999999999999999999999h", "999999999999999999", "٣s"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Duration, OfSecondsIsBounded) {
  EXPECT_EQ(duration_of_seconds(1.5).value().count(), 1500);
  for (const double seconds :
       {-1.0, 1e12, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(duration_of_seconds(seconds)) << seconds;
  }
}

TEST(KeepAlive, NegativeIsForeverAndZeroIsNot) {
  for (const char* text : {"-1", "-5m", "forever", " Forever "})
    EXPECT_EQ(parse_keep_alive(text).value(), KeepAlive{}) << text;
  EXPECT_EQ(parse_keep_alive("0").value(), KeepAlive{Milliseconds(0)});
  EXPECT_EQ(parse_keep_alive("-0").value(), KeepAlive{Milliseconds(0)});
  EXPECT_EQ(keep_alive_of_seconds(-1).value(), KeepAlive{});
  for (const char* text : {"", "-", "--5", "never", "-x"})
    EXPECT_FALSE(parse_keep_alive(text)) << text;
  EXPECT_FALSE(keep_alive_of_seconds(std::numeric_limits<double>::quiet_NaN()));
}

TEST(Duration, FormatParsesBack) {
  for (const long ms : {0L, 1L, 500L, 30'000L, 5'400'000L, 90'061'001L}) {
    EXPECT_EQ(parse_duration(format_duration(Milliseconds(ms))).value().count(), ms);
  }
  EXPECT_EQ(format_duration(Milliseconds(5'400'000)), "1h30m");
}

}  // namespace
}  // namespace hearth::config
