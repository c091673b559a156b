#include "base/text.h"

#include <gmock/gmock.h>

namespace hearth::base {
namespace {

using testing::ElementsAre;

TEST(Text, SplitKeepsEmptyPieces) {
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Text, TrimLeavesTheMiddle) {
  EXPECT_EQ(trim("  a b\t\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Text, JoinPutsSeparatorsBetween) { EXPECT_EQ(join({"a", "b"}, ", "), "a, b"); }

TEST(Text, PrintableDisarmsControlCharactersAndLength) {
  EXPECT_EQ(printable("a\x1b[31m\n", 20), "a?[31m?");
  EXPECT_EQ(printable("abcdef", 3), "abc…");
}

}  // namespace
}  // namespace hearth::base
