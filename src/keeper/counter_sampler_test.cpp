#include "keeper/counter_sampler.h"

#include <gtest/gtest.h>

#include "sys/fake_machine.h"
#include "tests/support/manual_clock.h"

namespace hearth::keeper {
namespace {

using namespace std::chrono_literals;

struct Machine {
  sys::FakeProcStats stats;
  sys::FakeMemory memory;
  test::ManualClock clock;
  CounterSampler sampler{stats, memory, clock};

  void counted(pid_t pid, base::Bytes read, std::uint64_t faults) {
    sys::ProcReading reading;
    reading.read_from_storage = read;
    reading.major_faults = faults;
    stats.set(pid, reading);
  }
};

TEST(CounterSampler, RequestsSentTogetherShareAReading) {
  Machine machine;
  machine.counted(7, 1000, 1);
  EXPECT_EQ(machine.sampler.now(7).process.read_from_storage, 1000U);
  machine.counted(7, 2000, 2);
  machine.clock.advance(CounterSampler::kTogether);
  EXPECT_EQ(machine.sampler.now(7).process.read_from_storage, 1000U);
  machine.clock.advance(1ms);
  EXPECT_EQ(machine.sampler.now(7).process.read_from_storage, 2000U);
}

TEST(CounterSampler, ProcessesDoNotShare) {
  Machine machine;
  machine.counted(7, 1000, 1);
  machine.counted(8, 5000, 5);
  EXPECT_EQ(machine.sampler.now(7).process.read_from_storage, 1000U);
  EXPECT_EQ(machine.sampler.now(8).process.read_from_storage, 5000U);
}

TEST(CounterSampler, TheEndIsNeverTheReadingOfTheBeginning) {
  Machine machine;
  machine.memory.swapped = 4096;
  machine.counted(7, 1000, 1);
  const auto begun = machine.sampler.now(7);
  machine.counted(7, 9000, 4);
  machine.memory.swapped = 12288;
  const auto ended = machine.sampler.after(begun, 7);
  EXPECT_EQ(process_delta(begun, ended)->bytes_read, 8000U);
  EXPECT_EQ(process_delta(begun, ended)->major_faults, 3U);
  EXPECT_EQ(swapped_in_between(begun, ended), 8192U);
}

TEST(CounterSampler, UnknownStaysUnknown) {
  Machine machine;
  machine.memory.swapped.reset();
  const auto begun = machine.sampler.now(7);
  const auto ended = machine.sampler.after(begun, 7);
  EXPECT_FALSE(process_delta(begun, ended));
  EXPECT_FALSE(swapped_in_between(begun, ended));
}

}  // namespace
}  // namespace hearth::keeper
