#include "cli/terminal_text.h"

#include <gtest/gtest.h>

namespace hearth::cli {
namespace {

TEST(TerminalText, LosesItsControls) {
  EXPECT_EQ(without_controls("a\x1b[2Jb\x07\r\n\tc\x7f"), "a[2Jb\n\tc");
  EXPECT_EQ(without_controls("a\xc2\x9b"
                             "31mb"),
            "a31mb");
  EXPECT_EQ(without_controls("Grüße, 世界 \xc2\xa0"), "Grüße, 世界 \xc2\xa0");
  EXPECT_EQ(without_controls("\xc2"), "\xc2");
}

TEST(TerminalText, KnowsUtf8) {
  for (const char* text : {"", "plain", "Grüße, 世界 🙂"})
    EXPECT_TRUE(is_utf8(text)) << text;
  for (const char* text : {"\xff", "a\xc3", "\xe2\x82", "\xed\xa0\x80", "\xc0\xaf"})
    EXPECT_FALSE(is_utf8(text));
}

}  // namespace
}  // namespace hearth::cli
