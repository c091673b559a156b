#include "keeper/host_sampler.h"

#include <gtest/gtest.h>

#include "sys/fake_machine.h"
#include "tests/support/manual_clock.h"

namespace hearth::keeper {
namespace {

using namespace std::chrono_literals;

struct Host {
  sys::FakeMemory memory;
  test::ManualClock clock;
  HostSampler sampler{memory, clock};
};

TEST(HostSampler, RequestsThatComeTogetherShareAReading) {
  Host host;
  host.memory.load = 1.0;
  EXPECT_EQ(host.sampler.sample().reading.load, 1.0);
  host.memory.load = 2.0;
  host.clock.advance(100ms);
  EXPECT_EQ(host.sampler.sample().reading.load, 1.0);
  host.clock.advance(1s);
  EXPECT_EQ(host.sampler.sample().reading.load, 2.0);
}

TEST(HostSampler, TellsWhatWasSwappedInMeanwhile) {
  Host host;
  host.memory.swapped = 4096;
  const auto begun = host.sampler.sample();
  host.memory.swapped = 12288;
  EXPECT_EQ(host.sampler.since(begun).swap_in_bytes, 8192U);
}

TEST(HostSampler, UnknownStaysUnknown) {
  Host host;
  host.memory.swapped.reset();
  host.memory.load.reset();
  const auto begun = host.sampler.sample();
  EXPECT_FALSE(begun.reading.load);
  EXPECT_FALSE(host.sampler.since(begun).swap_in_bytes);
}

}  // namespace
}  // namespace hearth::keeper
