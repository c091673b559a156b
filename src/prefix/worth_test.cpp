#include "prefix/worth.h"

#include <gtest/gtest.h>

namespace hearth::prefix {
namespace {

constexpr WorthFacts kBase{.tokens = 1000, .prefill_ms_per_token = 5, .bytes = 1'000'000, .uses = 10, .idle_ms = 0};

TEST(Worth, GrowsWithWhatIsSavedAndShrinksWithSizeAndIdleness) {
  auto with = [](auto change) {
    WorthFacts facts = kBase;
    change(facts);
    return worth_per_byte(facts);
  };
  const double base = worth_per_byte(kBase);
  EXPECT_GT(with([](auto& facts) { facts.tokens *= 2; }), base);
  EXPECT_GT(with([](auto& facts) { facts.prefill_ms_per_token = 9; }), base);
  EXPECT_GT(with([](auto& facts) { facts.uses = 11; }), base);
  EXPECT_LT(with([](auto& facts) { facts.bytes *= 2; }), base);
  EXPECT_LT(with([](auto& facts) { facts.idle_ms = 30LL * 24 * 3600 * 1000; }), base);
}

TEST(Worth, IsAPlainProduct) {
  EXPECT_DOUBLE_EQ(worth_per_byte(kBase), 1000 * 5 * 10.5 / 1e6);
  EXPECT_GT(worth_per_byte({.tokens = 1, .bytes = 0}), 0) << "no division by nothing";
}

}  // namespace
}  // namespace hearth::prefix
