#include "cli/progress.h"

#include <gtest/gtest.h>

#include "cli/test_world.h"

namespace hearth::cli {
namespace {

using namespace std::chrono_literals;

TEST(ProgressText, TellsHowFarAndHowLong) {
  EXPECT_EQ(progress_text({"importing x", 1'000'000'000, 4'000'000'000}, 5s, 1'000'000'000, {}),
            "importing x: 1.0 GB of 4.0 GB (25 %), 15 s left");
  EXPECT_EQ(progress_text({"importing x", 0, 4'000'000'000}, 5s, 0, {}), "importing x: 0 B of 4.0 GB (0 %)");
  EXPECT_EQ(progress_text({"importing x", 4, 4}, 5s, 4, {}), "importing x: 4 B of 4 B (100 %)");
  EXPECT_EQ(progress_text({"importing x", 1, 100'000}, 5s, 1, {}), "importing x: 1 B of 100 kB (0 %), 8333 min left");
  EXPECT_EQ(progress_text({"waiting", {}, {}}, 3s, 0, 5s), "waiting: 3 s, about 2 s left");
  EXPECT_EQ(progress_text({"waiting", {}, {}}, 7s, 0, 5s), "waiting: 7 s");
  EXPECT_EQ(progress_text({"fetching", 2'000'000, {}}, 7s, 0, {}), "fetching: 2.0 MB, 7 s");
  EXPECT_EQ(progress_text({"a\x1b[2J", {}, 0}, 7s, 0, {}), "a?[2J: 7 s");
}

TEST(ProgressLine, IsSilentAtFirstThenRedrawsOnATerminal) {
  TestWorld world;
  world.console.err_is_terminal = true;
  {
    ProgressLine line(world.console);
    line.show({"waiting"});
    world.clock.advance(1900ms);
    line.show({"waiting"});
    EXPECT_EQ(world.err.str(), "");
    world.clock.advance(100ms);
    line.show({"waiting"});
    world.clock.advance(100ms);
    line.show({"waiting"});
    EXPECT_EQ(world.err.str(), "\rwaiting: 2 s\x1b[K");
  }
  EXPECT_TRUE(world.err.str().ends_with("\r\x1b[K"));
}

TEST(ProgressLine, WritesFewLinesElsewhere) {
  TestWorld world;
  ProgressLine line(world.console);
  for (int i = 0; i <= 130; ++i) {
    line.show({"waiting"});
    world.clock.advance(100ms);
  }
  EXPECT_EQ(world.err.str(), "waiting: 2 s\nwaiting: 12 s\n");
  line.finish();
  world.clock.advance(60s);
  line.show({"waiting"});
  EXPECT_EQ(world.err.str(), "waiting: 2 s\nwaiting: 12 s\n");
}

}  // namespace
}  // namespace hearth::cli
