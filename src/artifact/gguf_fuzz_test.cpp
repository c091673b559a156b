// Seeded damage to small files: reading ends with a file or one error, whatever the bytes. What a sanitizer would
// object to is the real test, and what a result claims must lie within the file.
#include <gtest/gtest.h>

#include <random>

#include "artifact/gguf.h"
#include "artifact/gguf_sample.h"

namespace hearth::artifact {
namespace {

void read_and_judge(const std::string& bytes, unsigned round) {
  const auto gguf = read_gguf(MemorySource(std::as_bytes(std::span(bytes))));
  if (!gguf) {
    EXPECT_FALSE(gguf.error().message.empty()) << round;
    return;
  }
  for (const auto& tensor : gguf->tensors) {
    EXPECT_LE(tensor.offset + tensor.bytes.value_or(0), tensor.bytes ? bytes.size() : UINT64_MAX) << round;
  }
  EXPECT_LE(summarise(*gguf).name.value_or("").size(), 260U) << round;
  std::ignore = check_is_model(*gguf);
}

TEST(GgufFuzz, BytesOverwritten) {
  std::mt19937_64 random(20240817);
  const std::string whole = GgufSample::model();
  for (unsigned round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (std::uint64_t flips = 1 + random() % 8; flips > 0; --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    read_and_judge(bytes, round);
  }
}

TEST(GgufFuzz, SingleBitsFlippedEverywhere) {
  std::string bytes = GgufSample::model();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const auto flip = [&] { bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8)); };
    flip();
    read_and_judge(bytes, static_cast<unsigned>(bit));
    flip();
  }
}

TEST(GgufFuzz, LengthsReplacedByExtremes) {
  constexpr std::uint64_t kExtremes[] = {
      0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 30, (1ULL << 30) + 1, 1ULL << 62, 1ULL << 63, UINT64_MAX};
  const std::string whole = GgufSample::model();
  for (std::size_t at = 0; at + 8 <= whole.size(); ++at) {
    for (const auto extreme : kExtremes) {
      std::string bytes = whole;
      std::memcpy(bytes.data() + at, &extreme, sizeof extreme);
      read_and_judge(bytes, static_cast<unsigned>(at));
    }
  }
}

TEST(GgufFuzz, NoiseBehindAGoodHead) {
  std::mt19937_64 random(7);
  for (unsigned round = 0; round < 5'000; ++round) {
    std::string bytes = GgufSample::model().substr(0, 24 + random() % 300);
    for (std::uint64_t more = random() % 400; more > 0; --more)
      bytes += static_cast<char>(random());
    read_and_judge(bytes, round);
  }
}

}  // namespace
}  // namespace hearth::artifact
