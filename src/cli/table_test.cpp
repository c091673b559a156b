#include "cli/table.h"

#include <gtest/gtest.h>

namespace hearth::cli {
namespace {

TEST(Table, LinesUp) {
  Table table({"NAME", ">SIZE", "STATE"});
  table.add({"qwen", "2.1 GB", "ready"});
  table.add({"größer-als", "9 B"});
  table.add({"x\x1b[2J", "1", "a\nb"});
  EXPECT_EQ(table.text(),
            "NAME          SIZE  STATE\n"
            "qwen        2.1 GB  ready\n"
            "größer-als     9 B\n"
            "x?[2J            1  a?b\n");
  EXPECT_EQ(table.width(), 25u);
}

}  // namespace
}  // namespace hearth::cli
