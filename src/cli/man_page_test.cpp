#include "cli/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace hearth::cli {
namespace {

using testing::HasSubstr;

TEST(ManPage, HoldsEveryCommandAndOption) {
  const auto root = describe_commands();
  const auto page = man_page(root);
  EXPECT_THAT(page, HasSubstr(".TH HEARTH 1"));
  EXPECT_THAT(page, HasSubstr(".SS \"hearth engine install\"\n.B hearth engine install [\\-\\-config FILE] "
                              "[\\-\\-data\\-dir DIR] [\\-\\-json]\n"));
  EXPECT_THAT(page, HasSubstr(".TP\n\\fB\\-\\-listen\\fR \\fIHOST:PORT\\fR\nAddress to listen on (127.0.0.1:11434)\n"));
  EXPECT_THAT(page, HasSubstr(".SH \"EXIT STATUS\"\n0 done, 1 the operation failed, 2 wrong usage.\n"));
  EXPECT_EQ(page.find("__models"), std::string::npos);
  for (const auto& command : root.commands)
    EXPECT_THAT(page, HasSubstr(".SS \"hearth " + command.name));
}

TEST(ManPage, IsTheOneInTheDocuments) {
  std::ifstream stream(HEARTH_SOURCE_DIR "/docs/hearth.1");
  const std::string committed{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(committed, man_page(describe_commands())) << "write it again: hearth man > docs/hearth.1";
}

TEST(ManPage, EscapesWhatTroffWouldRead) {
  CommandDoc root{
      "x",
      "x",
      "d",
      "",
      {},
      {},
      {CommandDoc{"x y", "y", ".so /etc/passwd", "", {{{"--a"}, "", "'quoted \\ -text", false, false}}, {}, {}}}};
  const auto page = man_page(root);
  EXPECT_THAT(page, HasSubstr("\n\\&.so /etc/passwd.\n"));
  EXPECT_THAT(page, HasSubstr("\n\\&'quoted \\e \\-text\n"));
}

}  // namespace
}  // namespace hearth::cli
