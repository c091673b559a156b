#include "prefix/record.h"

#include <gtest/gtest.h>

#include "base/sealed_text.h"

#include "prefix/state_head.h"

namespace hearth::prefix {
namespace {

Record sample() {
  return {.fingerprint = std::string(32, 'a'),
          .tokens = {1, 2, 3, 128'000},
          .state_bytes = 1234,
          .state_sha256 = std::string(64, 'b'),
          .saved_at_ms = 1'700'000'000'000,
          .prefill_ms_per_token = 4.5,
          .origin = Origin::declared,
          .name = "the \"house\"",
          .model = "m:q4",
          .engine = "llama-server-1"};
}

TEST(PrefixRecord, ComesBackAsItWas) {
  const auto back = parse_record(write_record(sample()));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->tokens, sample().tokens);
  EXPECT_EQ(back->key(), sample().key());
  EXPECT_EQ(back->name, sample().name);
  EXPECT_EQ(back->prefill_ms_per_token, 4.5);
  EXPECT_EQ(back->origin, Origin::declared);
  Record unmeasured = sample();
  unmeasured.prefill_ms_per_token.reset();
  EXPECT_FALSE(parse_record(write_record(unmeasured))->prefill_ms_per_token);
}

TEST(PrefixRecord, EveryBitFlipAndEveryCutIsFound) {
  const std::string text = write_record(sample());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      EXPECT_FALSE(parse_record(damaged)) << at << " " << bit;
    }
    EXPECT_FALSE(parse_record(text.substr(0, at))) << at;
  }
}

TEST(PrefixRecord, ANewerVersionIsToldFromDamage) {
  EXPECT_EQ(parse_record(base::seal("hearth-prefix", 2, "?")).error().code, base::ErrorCode::unsupported);
  EXPECT_EQ(parse_record("hearth-prefix 2 whatever\n{}").error().code, base::ErrorCode::corrupt);
  EXPECT_EQ(parse_record("hearth-prefix x\n{}").error().code, base::ErrorCode::corrupt);
  EXPECT_EQ(parse_record("").error().code, base::ErrorCode::corrupt);
}

TEST(StateHead, OfTooFewBytesOrOtherTokensIsRefused) {
  const Tokens tokens = {5, 6};
  EXPECT_EQ(state_holds("qsgg", tokens).error().code, base::ErrorCode::corrupt);
  EXPECT_EQ(state_holds(std::string(100, 'x'), tokens).error().code, base::ErrorCode::unsupported);
}

}  // namespace
}  // namespace hearth::prefix
