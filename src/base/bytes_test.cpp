#include "base/bytes.h"

#include <gtest/gtest.h>

namespace hearth::base {
namespace {

TEST(Bytes, ReadsTheFormsThatPeopleWrite) {
  EXPECT_EQ(parse_bytes("1400MB").value(), 1'400'000'000U);
  EXPECT_EQ(parse_bytes("1.5 GiB").value(), 1'610'612'736U);
  EXPECT_EQ(parse_bytes("512k").value(), 524'288U);
  EXPECT_EQ(parse_bytes(" 4096 ").value(), 4096U);
  EXPECT_EQ(parse_bytes("0").value(), 0U);
}

TEST(Bytes, RefusesWhatIsNotASize) {
  for (const char* text : {"", "MB", "-1", "12 parsecs", "1e400", "99999999TB", "nan", "inf", "1.2.3GB"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
  EXPECT_NE(parse_bytes("lots").error().message.find("1400MB"), std::string::npos);
}

TEST(Bytes, PrintsAtMostThreeFigures) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1'234), "1.2 kB");
  EXPECT_EQ(format_bytes(703'204'704), "703 MB");
  EXPECT_EQ(format_bytes(999'600), "1.0 MB");
}

}  // namespace
}  // namespace hearth::base
