#include "tools/make_model/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::make_model {
namespace {

using ::testing::HasSubstr;

Shape good() { return {.layers = 2, .embd = 256, .ff = 512, .heads = 4, .kv_heads = 2, .vocab = 1000}; }

std::string refusal(auto change) {
  Shape shape = good();
  change(shape);
  const auto judged = check(shape);
  return judged ? "" : judged.error().message;
}

TEST(Shape, TakesWhatAnEngineCanRun) {
  EXPECT_TRUE(check(good()));
  for (const auto type : {WeightType::q4_0, WeightType::q8_0, WeightType::f16, WeightType::q4_k}) {
    EXPECT_EQ(refusal([type](Shape& shape) { shape.type = type; }), "");
  }
}

TEST(Shape, RefusesWithTheOptionAndTheMend) {
  EXPECT_THAT(refusal([](Shape& s) { s.layers = 0; }), HasSubstr("--layers is 0; it must be from 1"));
  EXPECT_THAT(refusal([](Shape& s) { s.vocab = 259; }), HasSubstr("--vocab is 259; it must be from 260"));
  EXPECT_THAT(refusal([](Shape& s) { s.embd = UINT64_MAX; }), HasSubstr("--embd"));
  EXPECT_THAT(refusal([](Shape& s) { s.heads = 3; }), HasSubstr("does not divide into 3 heads"));
  EXPECT_THAT(refusal([](Shape& s) { s.kv_heads = 3; }), HasSubstr("not a multiple of --kv-heads 3"));
  EXPECT_THAT(refusal([](Shape& s) { s.ff = 500; }),
              HasSubstr("--ff 500 does not divide into the blocks of 32 that q4_0 has"));
  EXPECT_THAT(refusal([](Shape& s) { s.rope_base = 0; }), HasSubstr("--rope-base"));
  EXPECT_THAT(refusal([](Shape& s) { s.rope_base = std::numeric_limits<double>::quiet_NaN(); }),
              HasSubstr("--rope-base"));
}

TEST(Shape, RefusesQ4KWhereRowsAreNotWholeBlocks) {
  EXPECT_THAT(
      refusal([](Shape& s) {
        s.embd = 128;
        s.type = WeightType::q4_k;
      }),
      HasSubstr(
          "--embd 128 does not divide into the blocks of 256 that q4_k has; choose a multiple or another --type"));
}

}  // namespace
}  // namespace hearth::make_model
