#include "sys/proc_stats.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "sys/machine_tree.h"
#include "sys/proc_text.h"

namespace hearth::sys {
namespace {

using namespace std::chrono_literals;

TEST(ProcText, StatSurvivesABracketInTheName) {
  const auto fields = parse_stat(
      "42 (evil) name) S 1 42 42 0 -1 4194560 100 0 7 0 11 22 0 0 20 0 5 0 98765 1000 200 18446744073709551615");
  ASSERT_TRUE(fields);
  EXPECT_EQ(fields->state, 'S');
  EXPECT_EQ(fields->major_faults, 7U);
  EXPECT_EQ(fields->user_ticks, 11U);
  EXPECT_EQ(fields->system_ticks, 22U);
  EXPECT_EQ(fields->start_ticks, 98765U);
  EXPECT_FALSE(parse_stat("42 (x) S 1 2"));
  EXPECT_FALSE(parse_stat(""));
}

TEST(ProcText, ValuesAreFoundAtLineStartsOnly) {
  const std::string_view text = "SwapCached: 5 kB\nCached:    7 kB\nread_bytes: 9\nodd: x\n";
  EXPECT_EQ(value_of(text, "Cached"), 7U * 1024);
  EXPECT_EQ(value_of(text, "read_bytes"), 9U);
  EXPECT_EQ(value_of(text, "odd"), std::nullopt);
  EXPECT_EQ(value_of(text, "missing"), std::nullopt);
  EXPECT_EQ(counter_of("pswpin 12\npswpinx 3\n", "pswpin"), 12U);
}

TEST(ProcText, PressureIsThePercentOfTheLineSome) {
  EXPECT_EQ(some_avg10("some avg10=1.25 avg60=0.10 avg300=0.00 total=5\nfull avg10=9.00"), 1.25);
  EXPECT_EQ(some_avg10("full avg10=9.00"), std::nullopt);
}

TEST(LinuxProcStats, KnowsItself) {
  const auto reading = LinuxProcStats().read(::getpid());
  EXPECT_GT(reading.resident.value(), 1'000'000U);
  EXPECT_TRUE(reading.major_faults);
  EXPECT_TRUE(reading.processor_time);
  const auto memory = LinuxProcStats().memory(::getpid());
  ASSERT_TRUE(memory);
  EXPECT_GT(memory->proportional, 0U);
  EXPECT_GE(memory->resident, memory->proportional);
}

TEST(LinuxProcStats, TheCheapReadingIsAPartOfTheWhole) {
  const LinuxProcStats stats;
  const auto before = stats.read(::getpid());
  const auto counters = stats.storage(::getpid());
  EXPECT_GE(counters.major_faults.value(), before.major_faults.value());
  EXPECT_EQ(counters.read_from_storage.has_value(), before.read_from_storage.has_value());
}

TEST(LinuxProcStats, SaysNothingOfAProcessThatIsNotThere) {
  const auto reading = LinuxProcStats("/nowhere").read(1);
  EXPECT_FALSE(reading.resident || reading.read_from_storage || reading.major_faults || reading.main_thread);
  EXPECT_FALSE(LinuxProcStats("/nowhere").memory(1));
  const auto counters = LinuxProcStats("/nowhere").storage(1);
  EXPECT_FALSE(counters.read_from_storage || counters.major_faults);
}

class ProcTree : public MachineTree {
 protected:
  void write(const std::string& name, const std::string& text) const { MachineTree::write("7/" + name, text); }
};

TEST_F(ProcTree, EachFileCountsForItself) {
  write("schedstat", "1000000 2000000 3\n");
  write("io", "rchar: 100\nread_bytes: 4096\n");
  const auto reading = LinuxProcStats(root_).read(7);
  EXPECT_EQ(reading.main_thread->running, 1ms);
  EXPECT_EQ(reading.main_thread->waiting, 2ms);
  EXPECT_EQ(reading.read_from_storage, 4096U);
  EXPECT_EQ(reading.read_by_calls, 100U);
  EXPECT_FALSE(reading.resident);
  EXPECT_FALSE(reading.processor_time);
}

TEST_F(ProcTree, ZerosOfAKernelThatDoesNotCountAreUnknown) {
  write("schedstat", "0 0 0\n");
  EXPECT_FALSE(LinuxProcStats(root_).read(7).main_thread);
}

}  // namespace
}  // namespace hearth::sys
