#include "tools/make_model/weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace hearth::make_model {
namespace {

constexpr std::size_t kBlocks = 4096;

// Reading of the layouts, written from their definition and not from the code under test.
double from_half(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (half & 0x8000) != 0 ? -size : size;
}

double half_at(const std::byte* at) {
  std::uint16_t half = 0;
  std::memcpy(&half, at, 2);
  return from_half(half);
}

int nibble(const std::byte* bytes, std::size_t i) {
  const auto byte = std::to_integer<int>(bytes[i / 2]);
  return i % 2 == 0 ? byte & 15 : byte >> 4;
}

using Values = std::vector<double>;

Values read_q4_0(const std::byte* block) {
  Values values;
  for (std::size_t i = 0; i < 32; ++i)
    values.push_back(half_at(block) * (nibble(block + 2, i) - 8));
  return values;
}

Values read_q8_0(const std::byte* block) {
  Values values;
  for (std::size_t i = 0; i < 32; ++i)
    values.push_back(half_at(block) * static_cast<std::int8_t>(block[2 + i]));
  return values;
}

std::pair<int, int> scale_and_minimum(const std::byte* packed, std::size_t i) {
  const auto byte = [packed](std::size_t at) { return std::to_integer<int>(packed[at]); };
  if (i < 4) return {byte(i) & 63, byte(i + 4) & 63};
  return {(byte(i + 4) & 15) | (byte(i - 4) >> 6) << 4, (byte(i + 4) >> 4) | (byte(i) >> 6) << 4};
}

// 64 weights share 32 bytes: the low nibbles are the first 32, the high ones the next.
Values read_q4_k(const std::byte* block) {
  Values values;
  for (std::size_t i = 0; i < 256; ++i) {
    const auto [scale, minimum] = scale_and_minimum(block + 4, i / 32);
    const auto byte = std::to_integer<int>(block[16 + i / 64 * 32 + i % 32]);
    const int quant = i / 32 % 2 == 0 ? byte & 15 : byte >> 4;
    values.push_back(half_at(block) * scale * quant - half_at(block + 2) * minimum);
  }
  return values;
}

Values read_f16(const std::byte* block) { return {half_at(block)}; }

Values read(WeightType type, const std::byte* block) {
  switch (type) {
    case WeightType::q4_0:
      return read_q4_0(block);
    case WeightType::q8_0:
      return read_q8_0(block);
    case WeightType::q4_k:
      return read_q4_k(block);
    case WeightType::f16:
      return read_f16(block);
  }
  return {};
}

class Weights : public ::testing::TestWithParam<std::tuple<WeightType, int>> {};

TEST_P(Weights, HaveTheSizeThatKeepsActivationsFinite) {
  const auto [type, fan_in] = GetParam();
  const auto& layout = layout_of(type);
  std::vector<std::byte> bytes(kBlocks * layout.block_bytes);
  Xoshiro random(7, "w");
  fill_weights(type, static_cast<std::uint64_t>(fan_in), random, bytes);
  double sum = 0;
  double squares = 0;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    for (const double value : read(type, bytes.data() + block * layout.block_bytes)) {
      ASSERT_TRUE(std::isfinite(value));
      sum += value;
      squares += value * value;
    }
  }
  const auto count = static_cast<double>(kBlocks * layout.block_elements);
  const double wanted = 1 / std::sqrt(static_cast<double>(fan_in));
  const double rms = std::sqrt(squares / count);
  // f16 has its exponents in whole steps; the others hit the size itself.
  const double tolerance = type == WeightType::f16 ? 0.42 : 0.05;
  EXPECT_NEAR(rms / wanted, 1, tolerance);
  EXPECT_LT(std::abs(sum / count), 0.01 * wanted);
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Weights,
                         ::testing::Combine(::testing::Values(WeightType::q4_0, WeightType::q8_0, WeightType::f16,
                                                              WeightType::q4_k),
                                            ::testing::Values(256, 2048, 8192, 65'536)));

TEST(Weights, Q8NeverHasTheByteThatCannotBeNegated) {
  std::vector<std::byte> bytes(kBlocks * 34);
  Xoshiro random(3, "w");
  fill_weights(WeightType::q8_0, 64, random, bytes);
  bool lowest_but_one = false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 34 < 2) continue;
    ASSERT_NE(bytes[i], std::byte{0x80});
    lowest_but_one = lowest_but_one || bytes[i] == std::byte{0x81};
  }
  EXPECT_TRUE(lowest_but_one);
}

TEST(Weights, NormsAreAroundOne) {
  std::vector<std::byte> bytes(4000);
  Xoshiro random(3, "n");
  fill_norm(random, bytes);
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    float value = 0;
    std::memcpy(&value, &bytes[i], 4);
    ASSERT_TRUE(value >= 0.9F && value <= 1.1F) << value;
  }
}

TEST(ToHalf, RoundsToNearest) {
  EXPECT_EQ(to_half(0.0F), 0x0000);
  EXPECT_EQ(to_half(1.0F), 0x3c00);
  EXPECT_EQ(to_half(0.5F), 0x3800);
  EXPECT_EQ(to_half(65'472.0F), 0x7bfe);
  EXPECT_EQ(to_half(1.0F + 1.0F / 2048), 0x3c00) << "a tie goes to even";
  EXPECT_EQ(to_half(1.0F + 3.0F / 2048), 0x3c02);
  EXPECT_EQ(to_half(6.103515625e-05F), 0x0400) << "the smallest normal number";
  EXPECT_EQ(to_half(5.9604644775390625e-08F), 0x0001) << "the smallest number";
}

TEST(Xoshiro, StreamsDependOnSeedAndName) {
  const auto first = [](std::uint64_t seed, std::string_view name) { return Xoshiro(seed, name).next(); };
  EXPECT_EQ(first(1, "a"), first(1, "a"));
  EXPECT_NE(first(1, "a"), first(2, "a"));
  EXPECT_NE(first(1, "a"), first(1, "b"));
}

}  // namespace
}  // namespace hearth::make_model
