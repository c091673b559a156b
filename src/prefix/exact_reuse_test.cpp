#include "prefix/exact_reuse.h"

#include <gtest/gtest.h>

namespace hearth::prefix {
namespace {

// How one token is computed in a run that begins at `from`: small batches are alike only when they are the same batch.
struct Way {
  bool many = false, whole_group = false;
  std::size_t begin = 0, size = 0;
  friend bool operator==(const Way&, const Way&) = default;
};

Way way_of(const BatchRule& rule, std::size_t from, std::size_t prompt, std::size_t token) {
  const std::size_t begin = from + (token - from) / rule.batch * rule.batch;
  const std::size_t size = std::min(rule.batch, prompt - begin);
  if (size < rule.many) return {false, false, begin, size};
  return {true, token - begin < size - size % rule.group, 0, 0};
}

bool equals_uncached(const BatchRule& rule, std::size_t prompt, std::size_t reused) {
  for (std::size_t token = 0; token < prompt; ++token) {
    const Way uncached = way_of(rule, 0, prompt, token);
    const Way now = token < reused ? Way{true, true, 0, 0} : way_of(rule, reused, prompt, token);
    if (uncached != now) return false;
  }
  return true;
}

TEST(ExactReuse, IsTheLongestWhoseContinuationIsComputedAsWithoutIt) {
  for (const BatchRule rule : {BatchRule{32, 12, 4}, BatchRule{32, 4, 4}, BatchRule{24, 8, 1}}) {
    for (std::size_t prompt = 1; prompt < 120; ++prompt) {
      for (std::size_t held = 0; held <= prompt; ++held) {
        const auto reuse = exact_reuse(rule, prompt, held);
        ASSERT_LE(reuse.tokens, held);
        ASSERT_TRUE(reuse.tokens == 0 || equals_uncached(rule, prompt, reuse.tokens)) << prompt << " " << held;
        for (std::size_t more = reuse.tokens + 1; more <= held && more < prompt; ++more) {
          if (more % rule.group == 0 && equals_uncached(rule, prompt, more)) {
            ADD_FAILURE() << "of " << prompt << " tokens " << more << " are as good as " << reuse.tokens;
          }
        }
        ASSERT_EQ(reuse.why.empty(), reuse.tokens == held) << prompt << " " << held;
      }
    }
  }
}

TEST(ExactReuse, WhatARunLeavesIsAlikeUpToItsLastWholeGroupOrBatch) {
  const BatchRule rule;
  EXPECT_EQ(computed_alike(rule, 0, 1381), 1380U);
  EXPECT_EQ(computed_alike(rule, 0, 512 + 63), 512U);
  EXPECT_EQ(computed_alike(rule, 0, 512 + 65), 576U);
  EXPECT_EQ(computed_alike(rule, 0, 40), 0U);
  EXPECT_EQ(computed_alike(rule, 1300, 1381), 1380U);
  EXPECT_EQ(computed_alike(rule, 1300, 1300), 1300U);
}

TEST(ExactReuse, AFewWordsAfterALongPrefix) {
  EXPECT_EQ(exact_reuse(BatchRule{}, 1381, 1367).tokens, 1316U);
  EXPECT_EQ(exact_reuse(BatchRule{.many = 4}, 1381, 1367).tokens, 1364U);
  EXPECT_EQ(exact_reuse(BatchRule{}, 1024 + 20, 1010).tokens, 512U);
  EXPECT_EQ(exact_reuse(std::nullopt, 1381, 1367).tokens, 0U);
}

std::optional<BatchRule> with(std::vector<std::string> flags) {
  return batch_rule({.build = "11669",
                     .backends = {"cpu-haswell", "cpu-zen4"},
                     .flags = std::move(flags),
                     .slots = 1,
                     .plain_model = true});
}

TEST(BatchRuleOf, TheFlagsThatDecideIt) {
  EXPECT_EQ(with({}), (BatchRule{512, 64, 4}));
  EXPECT_EQ(with({"--flash-attn", "off"}), (BatchRule{512, 4, 4}));
  EXPECT_EQ(with({"-fa", "off", "-fa", "on"}), (BatchRule{512, 64, 4}));
  EXPECT_EQ(with({"-ub", "256", "--rope-freq-base", "400000"}), (BatchRule{256, 64, 4}));
}

TEST(BatchRuleOf, OnlySomeTypesOfKeysAndValuesAreAttendedInTiles) {
  for (const auto& flags : {std::vector<std::string>{"-ctk", "bf16"},
                            {"--cache-type-v", "q8_0"},
                            {"-ctk", "q8_0", "-ctv", "q8_0"},
                            {"-ctk", "bf16", "-ctv", "bf16"}})
    EXPECT_EQ(with(flags), (BatchRule{512, 4, 4})) << flags.back();
  EXPECT_EQ(with({"-ctk", "f32"}), (BatchRule{512, 64, 4}));
  EXPECT_EQ(with({"-ctk", "f32", "-ctv", "f32"}), (BatchRule{512, 64, 4}));
  EXPECT_EQ(with({"--cache-type-k", "bf16", "-ctk", "f16"}), (BatchRule{512, 64, 4}));
}

ExactFlags added_to(std::vector<std::string> flags, bool plain = true) {
  return exact_flags(
      {.build = "11669", .backends = {"cpu-zen4"}, .flags = std::move(flags), .slots = 1, .plain_model = plain});
}

TEST(ExactFlags, LetAFewTokensAfterAPrefixBeComputedLikeMany) {
  const auto added = added_to({"--threads", "2"});
  EXPECT_EQ(with(added.flags), (BatchRule{512, 4, 4}));
  EXPECT_NE(added.why.find("--cache-type-k bf16"), std::string::npos);
}

TEST(ExactFlags, AreNoneWhereTheConfigurationChoseOrTheySpareNothing) {
  for (const char* flag : {"-ctk", "--cache-type-k", "-ctv", "--cache-type-v"})
    EXPECT_TRUE(added_to({flag, "f16"}).flags.empty()) << flag;
  EXPECT_TRUE(added_to({"--flash-attn", "off"}).flags.empty());
  EXPECT_TRUE(added_to({"--kv-unified"}).flags.empty());
  EXPECT_TRUE(added_to({}, false).flags.empty());
}

TEST(BatchRuleOf, IsUnknownRatherThanGuessed) {
  for (const char* flag : {"--kv-unified", "--lora", "--model-draft", "--spec-type", "--ubatch-size=99"})
    EXPECT_FALSE(with({flag, "x"})) << flag;
  for (const char* size : {"", "many", "127", "100", "510", "768"})
    EXPECT_FALSE(with({"-ub", size})) << size;
  EXPECT_FALSE(with({"-ub"}));
  BatchFacts facts{.build = "11669", .backends = {"cpu-zen4"}, .flags = {}, .slots = 4, .plain_model = true};
  EXPECT_TRUE(batch_rule(facts));
  facts.slots.reset();
  EXPECT_FALSE(batch_rule(facts)) << "its slots share one cache";
  facts.slots = 1;
  facts.backends.push_back("vulkan");
  EXPECT_FALSE(batch_rule(facts));
  facts.backends.clear();
  EXPECT_FALSE(batch_rule(facts));
  facts.backends.push_back("cpu-zen4");
  facts.build = "11670";
  EXPECT_FALSE(batch_rule(facts));
  facts.build.reset();
  EXPECT_FALSE(batch_rule(facts));
  facts.build = "11669";
  facts.plain_model = false;
  EXPECT_FALSE(batch_rule(facts));
}

}  // namespace
}  // namespace hearth::prefix
