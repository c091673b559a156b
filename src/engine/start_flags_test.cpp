#include "engine/start_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

StartFacts facts() {
  return {.engine_build = "11669", .backends = {"cpu-haswell", "cpu-zen4"}, .context_set = true, .flags = {}};
}

TEST(StartFlags, AProcessorNeedsNeitherFittingNorWarmUp) {
  const auto chosen = choose_start_flags(facts());
  EXPECT_THAT(chosen.flags, ElementsAre("--fit", "off", "--no-warmup"));
  EXPECT_THAT(chosen.why, HasSubstr("the context is set"));
  EXPECT_THAT(chosen.why, HasSubstr("no kernels"));
}

TEST(StartFlags, WithoutAContextTheEngineFits) {
  auto seen = facts();
  seen.context_set = false;
  EXPECT_THAT(choose_start_flags(seen).flags, ElementsAre("--no-warmup"));
}

TEST(StartFlags, WhatTheConfigurationDecidesIsLeftAlone) {
  auto seen = facts();
  seen.flags = {"--fit", "on", "--warmup"};
  const auto chosen = choose_start_flags(seen);
  EXPECT_THAT(chosen.flags, IsEmpty());
  EXPECT_THAT(chosen.why, IsEmpty());
  seen.flags = {"--fit=on"};
  EXPECT_THAT(choose_start_flags(seen).flags, ElementsAre("--no-warmup"));
}

TEST(StartFlags, ADeviceMayNeedBoth) {
  auto seen = facts();
  seen.backends.emplace_back("vulkan");
  EXPECT_THAT(choose_start_flags(seen).flags, IsEmpty());
  seen.backends.clear();
  EXPECT_THAT(choose_start_flags(seen).flags, IsEmpty());
}

TEST(StartFlags, AnOlderOrUnknownEngineGetsNone) {
  auto seen = facts();
  for (const auto& build : {std::optional<std::string>(), std::optional<std::string>("11668"),
                            std::optional<std::string>("b99999"), std::optional<std::string>("")}) {
    seen.engine_build = build;
    EXPECT_THAT(choose_start_flags(seen).flags, IsEmpty()) << build.value_or("none");
  }
}

}  // namespace
}  // namespace hearth::engine
