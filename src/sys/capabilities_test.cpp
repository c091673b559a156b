#include "sys/capabilities.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hearth::sys {
namespace {

const Capability& named(const std::vector<Capability>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Capability::name);
  EXPECT_NE(found, all.end()) << name;
  return *found;
}

TEST(Capabilities, EachHasOneSentence) {
  const auto all = probe_capabilities();
  ASSERT_EQ(all.size(), 11U);
  for (const auto& capability : all)
    EXPECT_FALSE(capability.why.empty()) << capability.name;
  EXPECT_EQ(named(all, "pidfd").state, CapabilityState::works) << named(all, "pidfd").why;
  EXPECT_NE(named(all, "mincore").state, CapabilityState::absent) << named(all, "mincore").why;
  EXPECT_NE(named(all, "niceness").state, CapabilityState::absent);
}

TEST(Capabilities, WhatIsNotThereIsAbsent) {
  const auto all = probe_capabilities({.proc = "/nowhere", .sys = "/nowhere", .scratch = "/nowhere"});
  for (const char* name :
       {"cachestat", "mincore", "psi_memory", "io_accounting", "thread_times", "cgroup", "cpufreq", "swap"}) {
    EXPECT_EQ(named(all, name).state, CapabilityState::absent) << name;
  }
}

}  // namespace
}  // namespace hearth::sys
