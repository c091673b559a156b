#include "prefix/discovery.h"

#include <gtest/gtest.h>

namespace hearth::prefix {
namespace {

Tokens prompt(std::size_t shared, Token tail, std::size_t tail_length = 10) {
  Tokens tokens(shared);
  for (std::size_t at = 0; at < shared; ++at)
    tokens[at] = static_cast<Token>(at);
  tokens.insert(tokens.end(), tail_length, tail);
  return tokens;
}

TEST(Discovery, ABeginningThatTwoPromptsShareIsToldOnTheSecond) {
  Discovery discovery;
  EXPECT_FALSE(discovery.note(prompt(500, 10'001)));
  EXPECT_EQ(discovery.note(prompt(500, 10'002)), 500U);
}

TEST(Discovery, AShortOneIsNot) {
  Discovery discovery;
  EXPECT_FALSE(discovery.note(prompt(100, 10'001)));
  EXPECT_FALSE(discovery.note(prompt(100, 10'002)));
}

TEST(Discovery, AConversationThatGoesOnIsNoHeader) {
  Discovery discovery;
  const Tokens turn = prompt(500, 10'001);
  Tokens next = turn;
  next.insert(next.end(), 30, 10'005);
  EXPECT_FALSE(discovery.note(turn));
  EXPECT_FALSE(discovery.note(next));
  EXPECT_EQ(discovery.note(prompt(500, 10'009)), 500U);
}

TEST(Discovery, TheSamePromptAgainCountsButForItsLastToken) {
  Discovery discovery;
  EXPECT_FALSE(discovery.note(prompt(500, 10'001)));
  EXPECT_EQ(discovery.note(prompt(500, 10'001)), 509U);
}

TEST(Discovery, PromptsWithoutTokensHaveNoBeginning) {
  Discovery discovery({.least = 1});
  EXPECT_FALSE(discovery.note({}));
  EXPECT_FALSE(discovery.note({}));
  EXPECT_FALSE(discovery.note({7}));
}

TEST(Discovery, ForgetsTheOldestBeyondItsBounds) {
  Discovery discovery({.least = 128, .prompts = 3, .tokens = 2000});
  for (Token tail = 0; tail < 100; ++tail)
    (void)discovery.note(prompt(500, 20'000 + tail));
  EXPECT_LE(discovery.remembered_tokens(), 2000U);
  (void)discovery.note(Tokens(5000, 1));  // larger than all that may be remembered
  EXPECT_LE(discovery.remembered_tokens(), 2000U);
}

TEST(Discovery, NearestIsTheOneThatPartsLatest) {
  Discovery discovery;
  (void)discovery.note(prompt(200, 10'001));
  (void)discovery.note(prompt(300, 10'002));
  const Tokens now = prompt(300, 10'003);
  ASSERT_NE(discovery.nearest(now), nullptr);
  EXPECT_EQ(common_prefix(*discovery.nearest(now), now), 300U);
  EXPECT_EQ(Discovery().nearest(now), nullptr);
}

}  // namespace
}  // namespace hearth::prefix
