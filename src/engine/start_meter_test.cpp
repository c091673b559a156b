#include "engine/start_meter.h"

#include <gtest/gtest.h>

namespace hearth::engine {
namespace {

using namespace std::chrono_literals;

class StartMeterTest : public testing::Test {
 protected:
  void after(std::chrono::milliseconds time) { meter.feed(now += time, reading, said); }

  base::Mono now = base::Mono(1000s);
  StartMeter meter{now};
  std::uint64_t said = 0;
  sys::ProcReading reading{.resident = 0,
                           .read_from_storage = 0,
                           .read_by_calls = 0,
                           .major_faults = 0,
                           .processor_time = 0ns,
                           .main_thread = sys::ThreadTimes{}};
};

TEST_F(StartMeterTest, BlockedIsWhatIsLeftOfSpansThatRead) {
  reading.read_from_storage = 4096;
  reading.main_thread = {10ms, 5ms};
  after(50ms);
  EXPECT_EQ(meter.blocked_on_storage(), 35ms);
  after(50ms);  // asleep, but nothing was read
  EXPECT_EQ(meter.blocked_on_storage(), 35ms);
  reading.read_from_storage = 8192;
  reading.main_thread = {50ms, 5ms};
  after(50ms);
  EXPECT_EQ(meter.blocked_on_storage(), 45ms);
  EXPECT_EQ(meter.bytes_read(), 8192U);
}

TEST_F(StartMeterTest, WhatTheKernelDoesNotCountIsUnknown) {
  reading.main_thread.reset();
  reading.read_from_storage.reset();
  after(50ms);
  EXPECT_FALSE(meter.blocked_on_storage());
  EXPECT_FALSE(meter.bytes_read());
  EXPECT_EQ(meter.major_faults(), 0U);
}

TEST_F(StartMeterTest, AnEndedProcessLeavesItsLastWord) {
  reading.read_from_storage = 4096;
  after(50ms);
  reading = {};
  after(50ms);
  EXPECT_EQ(meter.bytes_read(), 4096U);
}

TEST_F(StartMeterTest, AnySignOfLifeIsProgress) {
  after(10s);
  EXPECT_EQ(meter.without_progress(now), 10s);
  said = 1;
  after(1s);
  EXPECT_EQ(meter.without_progress(now), 0s);
  reading.read_from_storage = 1;
  after(1s);
  EXPECT_EQ(meter.without_progress(now), 0s);
  reading.major_faults = 1;
  after(1s);
  EXPECT_EQ(meter.without_progress(now), 0s);
  reading.processor_time = 500ms;
  after(1s);
  EXPECT_EQ(meter.without_progress(now), 0s);
}

TEST_F(StartMeterTest, AnsweringOurQuestionsIsNone) {
  for (int second = 1; second <= 60; ++second) {
    reading.processor_time = second * 20ms;  // 2 %
    after(1s);
  }
  EXPECT_GE(meter.without_progress(now), 59s);
}

}  // namespace
}  // namespace hearth::engine
