#include "domain/keep_alive.h"

#include <gtest/gtest.h>

#include <limits>

namespace hearth::domain {
namespace {

using namespace std::chrono_literals;

KeepAlive of(base::Duration span) { return KeepAlive{span}; }

TEST(KeepAlive, ReadsGoDurations) {
  const std::pair<const char*, base::Duration> cases[] = {
      {"5m", 5min},
      {"1h30m", 90min},
      {"300ms", 300ms},
      {"1.5h", 90min},
      {"2h45m", 165min},
      {"-0", 0s},
      {"0", 0s},
      {"+0", 0s},
      {"0s", 0s},
      {"-0s", 0s},
      {"+5s", 5s},
      {".5s", 500ms},
      {"1.s", 1s},
      {"1h1m1s1ms1us1ns", 3'661'001'001'001ns},
      {"3\u00b5s", 3us},
      {"3\u03bcs", 3us},
      {"24h", 24h},
      {"90s", 90s},
      {"1m1m", 2min},
      {"1s2h", 7201s},
      {"0.3333333333333333333h", 1200s},
      {"2562047h", 2562047h},
      {"9223372036854775807ns", base::Duration::max()},
      {"0.100000000000000000000h", 6min},
  };
  for (const auto& [text, span] : cases)
    EXPECT_EQ(parse_keep_alive(text).value(), of(span)) << text;
}

TEST(KeepAlive, NegativeIsForever) {
  for (const char* text : {"-1", "-1s", "-1m", "-5h30m", "-1ns", "-.5s"})
    EXPECT_TRUE(parse_keep_alive(text).value().is_forever()) << text;
}

TEST(KeepAlive, TheRestIsAnErrorThatNamesTheForms) {
  for (const char* text : {"",
                           " ",
                           "300",
                           "-2",
                           "1",
                           "+1",
                           "-1.0",
                           "5 m",
                           " 5m",
                           "5m ",
                           "5x",
                           "m",
                           ".s",
                           ".",
                           "-",
                           "+",
                           "--1s",
                           "1e9s",
                           "5M",
                           "5S",
                           "forever",
                           "never",
                           "2d",
                           "1h-5m",
                           "0x10s",
                           "nan",
                           "inf",
                           "5m\n",
                           "٣s",
                           "1,5h",
                           "9223372036854775808ns",
                           "9223372036s854775808ns",
                           "99999999999999999999h",
                           "2562048h"}) {
    const auto parsed = parse_keep_alive(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, base::ErrorCode::bad_request);
    EXPECT_NE(parsed.error().message.find("\"5m\""), std::string::npos) << parsed.error().message;
  }
}

TEST(KeepAlive, AnErrorShowsNoControlCharacters) {
  EXPECT_EQ(parse_keep_alive("5m\n\x1b").error().message.find('\x1b'), std::string::npos);
}

TEST(KeepAlive, NumbersAreSeconds) {
  EXPECT_EQ(keep_alive_of_seconds(300).value(), of(5min));
  EXPECT_EQ(keep_alive_of_seconds(1.5).value(), of(1500ms));
  EXPECT_TRUE(keep_alive_of_seconds(0).value().is_unload());
  EXPECT_TRUE(keep_alive_of_seconds(-0.0).value().is_unload());
  for (const double seconds : {-1.0, -0.001, 1e300, 9.3e9, std::numeric_limits<double>::infinity()})
    EXPECT_TRUE(keep_alive_of_seconds(seconds).value().is_forever()) << seconds;
  EXPECT_FALSE(keep_alive_of_seconds(std::numeric_limits<double>::quiet_NaN()));
}

TEST(KeepAlive, ForeverOutlastsEverythingElse) {
  EXPECT_TRUE(outlasts(KeepAlive::forever(), of(24h)));
  EXPECT_FALSE(outlasts(of(24h), KeepAlive::forever()));
  EXPECT_FALSE(outlasts(KeepAlive::forever(), KeepAlive::forever()));
  EXPECT_TRUE(outlasts(of(2s), of(1s)));
  EXPECT_FALSE(outlasts(of(1s), of(1s)));
}

TEST(KeepAlive, TextParsesBack) {
  for (const base::Duration span :
       {base::Duration(0s), base::Duration(90min), base::Duration(90s), base::Duration(1500ms), base::Duration(300ms),
        base::Duration(3us), base::Duration(1ns), base::Duration(3'600'000'000'001ns), base::Duration::max()}) {
    EXPECT_EQ(parse_keep_alive(text_of(of(span))).value(), of(span)) << text_of(of(span));
  }
  EXPECT_EQ(text_of(of(90min)), "1h30m");
  EXPECT_EQ(text_of(of(90s)), "1m30s");
  EXPECT_EQ(text_of(of(1500ms)), "1.5s");
  EXPECT_EQ(text_of(KeepAlive::forever()), "forever");
}

}  // namespace
}  // namespace hearth::domain
