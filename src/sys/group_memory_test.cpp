#include "sys/group_memory.h"

#include <gtest/gtest.h>

#include "sys/machine_tree.h"

namespace hearth::sys {
namespace {

using Groups = std::vector<GroupFolder>;

constexpr std::string_view kUnified = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
constexpr std::string_view kSplit =
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "34 31 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";

TEST(MemoryGroups, AreTheOwnOneAndThoseAroundIt) {
  EXPECT_EQ(memory_groups(kUnified, "0::/system.slice/hearth.service\n"),
            (Groups{{2, "/sys/fs/cgroup/system.slice/hearth.service"},
                    {2, "/sys/fs/cgroup/system.slice"},
                    {2, "/sys/fs/cgroup"}}));
  EXPECT_EQ(memory_groups(kUnified, "0::/\n"), (Groups{{2, "/sys/fs/cgroup"}}));
}

TEST(MemoryGroups, OfVersionOneAreThoseOfItsMemoryController) {
  EXPECT_EQ(memory_groups(kSplit, "5:cpu:/x\n4:memory:/a\n0::/\n"),
            (Groups{{1, "/sys/fs/cgroup/memory/a"}, {1, "/sys/fs/cgroup/memory"}}));
  EXPECT_EQ(memory_groups("1 2 0:3 / /cg rw - cgroup cgroup rw,cpu,memory\n", "4:cpu,memory:/a\n"),
            (Groups{{1, "/cg/a"}, {1, "/cg"}}));
}

TEST(MemoryGroups, OfAContainerBeginAtWhatItSees) {
  constexpr std::string_view mounted =
      "34 31 0:31 /docker/12 /sys/fs/cgroup/memory ro master:9 - cgroup cgroup rw,memory\n";
  EXPECT_EQ(memory_groups(mounted, "4:memory:/docker/12\n"), (Groups{{1, "/sys/fs/cgroup/memory"}}));
  EXPECT_EQ(memory_groups(mounted, "4:memory:/docker/12/a\n"),
            (Groups{{1, "/sys/fs/cgroup/memory/a"}, {1, "/sys/fs/cgroup/memory"}}));
  EXPECT_EQ(memory_groups(mounted, "4:memory:/docker/123\n"), (Groups{{1, "/sys/fs/cgroup/memory"}}));
}

TEST(MemoryGroups, AreNoneWhereNothingIsMountedOrNothingParses) {
  EXPECT_EQ(memory_groups("", "0::/a\n"), Groups{});
  EXPECT_EQ(memory_groups(kUnified, ""), Groups{});
  EXPECT_EQ(memory_groups(" - \n1 - cgroup2\n", "0\n0:\n::\n"), Groups{});
  EXPECT_EQ(memory_groups(kUnified, "0::a\n"), (Groups{{2, "/sys/fs/cgroup"}})) << "no path";
}

class GroupMemoryTree : public MachineTree {
 protected:
  [[nodiscard]] std::optional<GroupMemory> read(const Groups& groups) const {
    return group_memory(groups, root_, 1000000);
  }
};

TEST_F(GroupMemoryTree, CountsPageCacheAsFree) {
  write("fs/cgroup/a/memory.max", "4000\n");
  write("fs/cgroup/a/memory.current", "3000\n");
  write("fs/cgroup/a/memory.stat", "anon 1200\ninactive_file 1000\nactive_file 500\nslab_reclaimable 100\n");
  const auto memory = read({{2, "/sys/fs/cgroup/a"}}).value();
  EXPECT_EQ(memory.limit, 4000U);
  EXPECT_EQ(memory.available, 4000U - 1400U);
}

TEST_F(GroupMemoryTree, OfVersionOneCountsTheGroupsBelow) {
  write("fs/cgroup/memory/memory.limit_in_bytes", "4000\n");
  write("fs/cgroup/memory/memory.usage_in_bytes", "3000\n");
  write("fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 1000\ntotal_active_file 500\n");
  const auto memory = read({{1, "/sys/fs/cgroup/memory"}}).value();
  EXPECT_EQ(memory.available, 2500U);
  EXPECT_EQ(memory.version, 1);
}

TEST_F(GroupMemoryTree, TheTightestOfAllGroupsHolds) {
  write("fs/cgroup/a/b/memory.max", "max\n");
  write("fs/cgroup/a/b/memory.high", "6000\n");
  write("fs/cgroup/a/b/memory.current", "1000\n");
  write("fs/cgroup/a/memory.max", "9000\n");
  write("fs/cgroup/a/memory.current", "8000\n");
  const Groups groups = {{2, "/sys/fs/cgroup/a/b"}, {2, "/sys/fs/cgroup/a"}, {2, "/sys/fs/cgroup"}};
  const auto memory = read(groups).value();
  EXPECT_EQ(memory.limit, 6000U);
  EXPECT_EQ(memory.available, 1000U) << "others in the group around have the rest";
}

TEST_F(GroupMemoryTree, IsEmptyWithoutALimit) {
  EXPECT_FALSE(read({}));
  EXPECT_FALSE(read({{2, "/sys/fs/cgroup"}}));
  write("fs/cgroup/memory.max", "max\n");
  write("fs/cgroup/memory.current", "8000\n");
  EXPECT_FALSE(read({{2, "/sys/fs/cgroup"}}));
}

TEST_F(GroupMemoryTree, MoreUsedThanAllowedLeavesNothing) {
  write("fs/cgroup/memory.max", "1000\n");
  write("fs/cgroup/memory.current", "8000\n");
  EXPECT_EQ(read({{2, "/sys/fs/cgroup"}}).value().available, 0U);
}

TEST_F(GroupMemoryTree, PressureIsThatOfTheOwnGroup) {
  EXPECT_EQ(group_pressure({{1, "/sys/fs/cgroup"}}, root_), std::nullopt);
  write("fs/cgroup/a/memory.pressure", "some avg10=3.50 avg60=0.00 avg300=0.00 total=0\n");
  EXPECT_EQ(group_pressure({{2, "/sys/fs/cgroup/a"}, {2, "/sys/fs/cgroup"}}, root_), 3.5);
}

}  // namespace
}  // namespace hearth::sys
