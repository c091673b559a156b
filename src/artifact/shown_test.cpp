#include "artifact/shown.h"

#include <gtest/gtest.h>

namespace hearth::artifact {
namespace {

TEST(Shown, LeavesGoodTextAlone) { EXPECT_EQ(shown("Qwen3 4B – größer 🔥", 100), "Qwen3 4B – größer 🔥"); }

TEST(Shown, ReplacesControlCharacters) { EXPECT_EQ(shown("a\n\x1b[31m\x7f", 100), "a??[31m?"); }

TEST(Shown, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(shown("a\xff\x80z", 100), "a??z");
  EXPECT_EQ(shown("\xc0\xaf", 100), "??");            // overlong
  EXPECT_EQ(shown("\xed\xa0\x80", 100), "???");       // surrogate
  EXPECT_EQ(shown("\xf4\x90\x80\x80", 100), "????");  // beyond U+10FFFF
  EXPECT_EQ(shown("\xe2\x82", 100), "??");            // cut short
}

TEST(Shown, CutsBetweenCharacters) {
  EXPECT_EQ(shown("abcdef", 3), "abc…");
  EXPECT_EQ(shown("ää", 3), "ä…");
  EXPECT_EQ(shown("abc", 3), "abc");
}

}  // namespace
}  // namespace hearth::artifact
