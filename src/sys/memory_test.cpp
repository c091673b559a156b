#include "sys/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "sys/fake_machine.h"
#include "sys/machine_tree.h"

namespace hearth::sys {
namespace {

template <typename Implementation>
class MemoryContract : public testing::Test {};
using Implementations = testing::Types<LinuxMemory, FakeMemory>;
TYPED_TEST_SUITE(MemoryContract, Implementations);

TYPED_TEST(MemoryContract, FiguresFitTogether) {
  const TypeParam machine;
  const auto memory = machine.memory();
  EXPECT_GE(memory.total.value(), memory.available.value());
  EXPECT_GE(memory.swap_total.value(), memory.swap_free.value());
  EXPECT_TRUE(machine.load_average());
  EXPECT_TRUE(machine.swapped_in());
  EXPECT_TRUE(machine.refaults());
  EXPECT_TRUE(machine.lock_limit());
}

class LinuxMemoryTree : public MachineTree {
 protected:
  [[nodiscard]] LinuxMemory machine() const { return LinuxMemory(root_, root_); }
};

TEST_F(LinuxMemoryTree, ReadsWhatTheKernelWrites) {
  write("meminfo", "MemTotal:       1000 kB\nMemAvailable:    400 kB\nCached:          100 kB\nSwapTotal:  8 kB\n");
  write("pressure/memory", "some avg10=2.50 avg60=0.00 avg300=0.00 total=0\n");
  write("vmstat", "pswpin 3\n");
  write("loadavg", "1.25 0.50 0.25 1/100 4242\n");
  EXPECT_EQ(machine().memory().total, 1'024'000U);
  EXPECT_EQ(machine().memory().available, 409'600U);
  EXPECT_EQ(machine().memory().swap_free, std::nullopt);
  EXPECT_EQ(machine().pressure().memory_some_avg10, 2.5);
  EXPECT_EQ(machine().pressure().io_some_avg10, std::nullopt);
  EXPECT_EQ(machine().swapped_in(), 3U * static_cast<base::Bytes>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(machine().load_average(), 1.25);
}

TEST_F(LinuxMemoryTree, AControlGroupThatAllowsLessIsTheMachine) {
  write("meminfo", "MemTotal:       1000 kB\nMemAvailable:    400 kB\n");
  write("self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("self/cgroup", "0::/a\n");
  write("fs/cgroup/a/memory.max", "500000\n");
  write("fs/cgroup/a/memory.current", "450000\n");
  write("fs/cgroup/a/memory.pressure", "some avg10=4.00 avg60=0.00 avg300=0.00 total=0\n");
  write("pressure/memory", "some avg10=2.50 avg60=0.00 avg300=0.00 total=0\n");
  EXPECT_EQ(machine().memory().total, 500'000U);
  EXPECT_EQ(machine().memory().group_limit, 500'000U);
  EXPECT_EQ(machine().memory().available, 50'000U);
  EXPECT_EQ(machine().pressure().memory_some_avg10, 4.0);
  write("fs/cgroup/a/memory.current", "1000\n");
  EXPECT_EQ(machine().memory().available, 409'600U) << "the machine has no more";
  write("fs/cgroup/a/memory.max", "9000000\n");
  EXPECT_EQ(machine().memory().total, 1'024'000U);
  EXPECT_EQ(machine().memory().group_limit, std::nullopt);
}

TEST_F(LinuxMemoryTree, RefaultsAreThoseOfFilesAndOfSwapOnKernelsThatTellThemApart) {
  EXPECT_EQ(machine().refaults(), std::nullopt);
  write("vmstat", "workingset_refault 7\n");
  EXPECT_EQ(machine().refaults(), 7U);
  write("vmstat", "workingset_refault_anon 2\nworkingset_refault_file 40\n");
  EXPECT_EQ(machine().refaults(), 42U);
}

TEST_F(LinuxMemoryTree, WhatTheMachineReclaimsIsNotKnownWhereAControlGroupHasALimitOfItsOwn) {
  EXPECT_EQ(machine().reclaim_scans(), std::nullopt);
  write("vmstat", "pgscan_kswapd 40\npgscan_direct 2\npgscan_direct_throttle 9\npgscan_proactive 500\n");
  EXPECT_EQ(machine().reclaim_scans(), 42U);
  write("meminfo", "MemTotal:       1000 kB\nMemAvailable:    400 kB\n");
  write("self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("self/cgroup", "0::/a\n");
  write("fs/cgroup/a/memory.max", "500000\n");
  write("fs/cgroup/a/memory.current", "450000\n");
  EXPECT_EQ(machine().reclaim_scans(), std::nullopt);
}

TEST_F(LinuxMemoryTree, TheFastestClockComesFromCpufreqAndElseFromCpuinfo) {
  EXPECT_EQ(machine().processor_mhz(), std::nullopt);
  write("cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2000.500\n\nprocessor\t: 1\ncpu MHz\t\t: 2100.000\n");
  EXPECT_EQ(machine().processor_mhz(), 2100.0);
  write("devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "800000\n");
  write("devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3100000\n");
  EXPECT_EQ(machine().processor_mhz(), 3100.0);
}

}  // namespace
}  // namespace hearth::sys
