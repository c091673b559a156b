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
  EXPECT_EQ(host.sampler.reading().load, 1.0);
  host.memory.load = 2.0;
  host.clock.advance(100ms);
  EXPECT_EQ(host.sampler.reading().load, 1.0);
  host.clock.advance(1s);
  EXPECT_EQ(host.sampler.reading().load, 2.0);
}

TEST(HostSampler, UnknownStaysUnknown) {
  Host host;
  host.memory.load.reset();
  EXPECT_FALSE(host.sampler.reading().load);
  EXPECT_FALSE(host.sampler.reading().swap_in_bytes);
}

}  // namespace
}  // namespace hearth::keeper
