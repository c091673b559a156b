// What a model is expected to take, by its file.
#include "keeper/needs.h"

#include <gtest/gtest.h>

#include "keeper/ladder_of.h"

namespace hearth::keeper {
namespace {

using policy::Charge;
using policy::Rung;

artifact::Manifest manifest() {
  artifact::Manifest manifest{domain::ModelId::parse("m").value(),
                              artifact::Digest::parse(std::string(64, 'a')).value()};
  manifest.bytes = 1'000'000'000;
  manifest.gguf.architecture = "llama";
  manifest.gguf.parameters = 1'235'814'400;
  manifest.gguf.context_length = 8192;
  manifest.gguf.block_count = 16;
  manifest.gguf.embedding_length = 2048;
  manifest.gguf.head_count = 32;
  manifest.gguf.head_count_kv = 8;
  manifest.gguf.vocabulary = 128256;
  return manifest;
}

TEST(Needs, TheCacheIsTwoTensorsOfEveryLayerForEveryToken) {
  const Needs needs = needs_of(manifest(), {.context = 4096});
  EXPECT_EQ(needs.kv_bytes_per_token, 2.0 * 16 * 8 * 64 * 2);
  EXPECT_EQ(needs.prior[Charge::kv].host(), 32768U * 4096);
  EXPECT_EQ(needs.prior[Charge::weights].host(), 1'000'000'000U);
  EXPECT_EQ(needs.prior[Charge::compute].host(), 512U * 128256 * 4);
}

TEST(Needs, NoMoreContextThanTheModelWasTrainedFor) {
  EXPECT_EQ(needs_of(manifest(), {.context = 1U << 20}).options.context, 8192U);
  EXPECT_EQ(needs_of(manifest(), {}).options.context, 8192U);
}

TEST(Needs, WhatAHostileFileClaimsStaysOutOfTheSum) {
  auto hostile = manifest();
  hostile.gguf.head_count = 0;
  EXPECT_EQ(needs_of(hostile, {}).kv_bytes_per_token, std::nullopt);
  hostile.gguf.head_count = 32;
  hostile.gguf.block_count = ~0ULL;
  hostile.gguf.vocabulary = ~0ULL;
  EXPECT_EQ(needs_of(hostile, {}).prior[Charge::kv].host(), 0U);
  EXPECT_EQ(needs_of(hostile, {}).prior[Charge::compute].host(), 0U);
}

TEST(Needs, TheContextShrinksUntilItFits) {
  const base::Bytes rest = needs_of(manifest(), {}).prior.total().host() - 32768ULL * 8192;
  EXPECT_EQ(context_that_fits(manifest(), {}, rest + 32768ULL * 9000), 8192U);
  EXPECT_EQ(context_that_fits(manifest(), {}, rest + 32768ULL * 4000), 3840U);
  EXPECT_EQ(context_that_fits(manifest(), {}, rest + 32768ULL * 100), std::nullopt);
  EXPECT_EQ(context_that_fits(manifest(), {}, rest / 2), std::nullopt);
}

TEST(Needs, ThePromptCacheIsWhatTheBudgetLeavesAndTheConfigurationAllows) {
  EXPECT_EQ(prompt_cache_for(manifest(), {}, 16'000'000'000, 1'000'000'000), 500'000'000U);
  EXPECT_EQ(prompt_cache_for(manifest(), {}, 16'000'000'000, 256'000'000), 256'000'000U);
  EXPECT_EQ(prompt_cache_for(manifest(), {}, 16'000'000'000, 0), 0U);
  EXPECT_EQ(prompt_cache_for(manifest(), {}, needs_of(manifest(), {}).prior.total().host(), 256'000'000), 0U);
}

TEST(LadderOf, AModelThatCannotHibernateIsOnlyServingOrCold) {
  LadderFacts facts{.serving = needs_of(manifest(), {}).prior, .hibernated = std::nullopt};
  EXPECT_EQ(ladder_of(facts).rungs().size(), 2U);
  facts.hibernated = hibernated_claim(facts.serving);
  facts.start_s = 3.0;
  const auto ladder = ladder_of(facts);
  EXPECT_EQ(ladder.bytes_at(Rung::serving).host() - ladder.bytes_at(Rung::hibernated).host(), 1'000'000'000U);
  EXPECT_EQ(ladder.ready_s_at(Rung::cold), 3.0);
  EXPECT_LT(ladder.ready_s_at(Rung::hibernated), 1.0);
  EXPECT_EQ(ladder.bytes_at(Rung::cold).host(), 0U);
}

}  // namespace
}  // namespace hearth::keeper
