#include "checksum.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hearth::tier {
namespace {

std::vector<unsigned char> pattern(std::size_t size) {
  std::vector<unsigned char> bytes(size);
  std::uint32_t state = 12345;
  for (unsigned char& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<unsigned char>(state >> 24);
  }
  return bytes;
}

TEST(Crc32c, KnowsThePublishedVectors) {
  // RFC 3720, B.4
  const std::vector<unsigned char> zeros(32, 0);
  const std::vector<unsigned char> ones(32, 0xFF);
  EXPECT_EQ(crc32c("123456789", 9), 0xE3069283U);
  EXPECT_EQ(crc32c(zeros.data(), zeros.size()), 0x8A9136AAU);
  EXPECT_EQ(crc32c(ones.data(), ones.size()), 0x62A8AB43U);
}

TEST(Crc32c, InstructionAndTablesAgree) {
  const auto bytes = pattern(1000);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(crc32c(bytes.data(), size), crc32c_portable(bytes.data(), size)) << size;
  }
}

TEST(Checksum, SeesEveryFlippedBit) {
  auto bytes = pattern(333);
  const std::uint32_t right = checksum(bytes.data(), bytes.size());
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
    ASSERT_NE(checksum(bytes.data(), bytes.size()), right) << bit;
    bytes[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
  }
}

TEST(Checksum, DependsOnTheLength) {
  const std::vector<unsigned char> zeros(100, 0);
  EXPECT_NE(checksum(zeros.data(), 64), checksum(zeros.data(), 65));
  EXPECT_NE(checksum(zeros.data(), 64), checksum(zeros.data(), 96));
}

TEST(SourceFingerprint, SeesSmallTensorsWholeAndLargeOnesInPart) {
  auto small = pattern(4096);
  const auto before = source_fingerprint("blk.0.attn_norm.weight", small.data(), small.size());
  small[4095] ^= 1;
  EXPECT_NE(source_fingerprint("blk.0.attn_norm.weight", small.data(), small.size()), before);

  const auto large = pattern(1 << 20);
  const auto other = std::vector<unsigned char>(1 << 20, 7);
  EXPECT_NE(source_fingerprint("a", large.data(), large.size()), source_fingerprint("a", other.data(), other.size()));
  EXPECT_NE(source_fingerprint("a", large.data(), large.size()), source_fingerprint("b", large.data(), large.size()));
}

}  // namespace
}  // namespace hearth::tier
