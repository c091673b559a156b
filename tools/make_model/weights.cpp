#include "tools/make_model/weights.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace hearth::make_model {
namespace {

// Root mean squares of what the integers are drawn from.
constexpr double kRmsNibble = 4.183;   // -7 .. 7, 0 twice as often
constexpr double kRmsCentred = 4.610;  // 0 .. 15 less 7.5
constexpr double kRmsByte = 73.6;      // -127 .. 127, -127 twice as often
constexpr double kRmsScale = 48.39;    // 32 .. 63, uniform
constexpr double kRmsHalf = 1.2076;    // of +-2^e (1 + fraction), e drawn from {-1, 0}

// A few scales around the right one: blocks differ as those of real models do.
std::array<std::uint16_t, 16> scales_around(double scale) {
  std::array<std::uint16_t, 16> scales{};
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] = to_half(static_cast<float>(scale * (0.85 + 0.02 * static_cast<double>(i))));
  }
  return scales;
}

void store(std::byte*& out, const auto& value) {
  std::memcpy(out, &value, sizeof value);
  out += sizeof value;
}

// -8 becomes 0, which leaves as much above 0 as below: with a mean of its own every row would push the same way, and
// the engine would soon repeat one token.
std::uint64_t without_minus_eight(std::uint64_t sixteen) {
  constexpr std::uint64_t kLowest = 0x1111111111111111;
  std::uint64_t nonzero = sixteen | sixteen >> 1;  // lowest bit of each nibble: any of its bits
  nonzero |= nonzero >> 2;
  return sixteen | (~nonzero & kLowest) << 3;
}

void fill_q4_0(double rms, Xoshiro& random, std::span<std::byte> out) {
  const auto scales = scales_around(rms / kRmsNibble);
  std::byte* at = out.data();
  std::uint64_t picks = 0;
  for (std::size_t block = 0; block < out.size() / 18; ++block, picks >>= 4) {
    if (block % 16 == 0) picks = random.next();
    store(at, scales[picks & 15]);
    for (int i = 0; i < 2; ++i)
      store(at, without_minus_eight(random.next()));
  }
}

// -128 becomes -127: engines negate these bytes.
std::uint64_t without_lowest(std::uint64_t eight) {
  constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  const std::uint64_t differs = (eight ^ ~kLow);                      // 0 where a byte is 0x80
  const std::uint64_t nonzero = ((differs & kLow) + kLow) | differs;  // top bit where it is not 0
  return eight | (~nonzero & ~kLow) >> 7;
}

void fill_q8_0(double rms, Xoshiro& random, std::span<std::byte> out) {
  const auto scales = scales_around(rms / kRmsByte);
  std::byte* at = out.data();
  std::uint64_t picks = 0;
  for (std::size_t block = 0; block < out.size() / 34; ++block, picks >>= 4) {
    if (block % 16 == 0) picks = random.next();
    store(at, scales[picks & 15]);
    for (int i = 0; i < 4; ++i)
      store(at, without_lowest(random.next()));
  }
}

// The packing of eight scales and eight minima in 12 bytes: the first four of each whole in the low 6 bits of bytes 0-3
// and 4-7; of the last four, the low nibbles in bytes 8-11 and the top two bits in those of bytes 0-3 and 4-7.
std::array<std::uint8_t, 12> pack_scales(const std::array<std::uint8_t, 8>& scales) {
  std::array<std::uint8_t, 12> packed{};
  for (std::size_t i = 0; i < 4; ++i) {
    const unsigned first = scales[i];
    const unsigned last = scales[i + 4];
    packed[i] = packed[i + 4] = static_cast<std::uint8_t>(first | (last >> 4) << 6);
    packed[i + 8] = static_cast<std::uint8_t>((last & 15) | (last & 15) << 4);
  }
  return packed;
}

void fill_q4_k(double rms, Xoshiro& random, std::span<std::byte> out) {
  const double d = rms / (kRmsCentred * kRmsScale);
  const std::uint16_t scale = to_half(static_cast<float>(d));
  const std::uint16_t minimum = to_half(static_cast<float>(7.5 * d));
  std::byte* at = out.data();
  for (std::size_t block = 0; block < out.size() / 144; ++block) {
    store(at, scale);
    store(at, minimum);
    std::uint64_t picks = random.next();
    std::array<std::uint8_t, 8> scales{};
    for (auto& each : scales) {
      each = static_cast<std::uint8_t>(32 | (picks & 31));
      picks >>= 5;
    }
    store(at, pack_scales(scales));
    for (int i = 0; i < 16; ++i)
      store(at, random.next());
  }
}

void fill_f16(double rms, Xoshiro& random, std::span<std::byte> out) {
  // Half precision's exponent is biased by 15; 1 keeps the numbers normal for any fan-in.
  const auto exponent = static_cast<std::uint64_t>(std::clamp(std::lround(std::log2(rms / kRmsHalf)) + 14, 1L, 28L));
  constexpr std::uint64_t kEach = 0x0001000100010001;
  std::byte* at = out.data();
  std::size_t left = out.size();
  while (left > 0) {
    // Bit 10 stays random: it is the lowest of the exponent, added to `exponent`.
    const std::uint64_t four = (random.next() & 0x87ff * kEach) + (exponent << 10) * kEach;
    const std::size_t count = std::min(left, sizeof four);
    std::memcpy(at, &four, count);
    at += count;
    left -= count;
  }
}

}  // namespace

void fill_weights(WeightType type, std::uint64_t fan_in, Xoshiro& random, std::span<std::byte> out) {
  const double rms = 1.0 / std::sqrt(static_cast<double>(fan_in));
  switch (type) {
    case WeightType::q4_0:
      return fill_q4_0(rms, random, out);
    case WeightType::q8_0:
      return fill_q8_0(rms, random, out);
    case WeightType::q4_k:
      return fill_q4_k(rms, random, out);
    case WeightType::f16:
      return fill_f16(rms, random, out);
  }
}

void fill_norm(Xoshiro& random, std::span<std::byte> out) {
  std::byte* at = out.data();
  for (std::size_t i = 0; i < out.size() / sizeof(float); ++i) {
    const auto fraction = static_cast<float>(random.next() >> 40) / 16'777'216.0F;
    store(at, 0.9F + 0.2F * fraction);
  }
}

std::uint16_t to_half(float value) {
  constexpr float kSmallestNormal = 6.103515625e-05F;  // 2^-14
  if (value < kSmallestNormal)
    return static_cast<std::uint16_t>(std::nearbyint(value * 16'777'216.0F));  // units of 2^-24
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0xfff + (bits >> 13 & 1);
  return static_cast<std::uint16_t>((rounded >> 13) - ((127 - 15) << 10));
}

}  // namespace hearth::make_model
