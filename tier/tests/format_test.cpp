#include "format.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "checksum.h"

namespace hearth::tier {
namespace {

/// A sound file in memory, and ways to damage it.
struct Sample {
  FileHeader header{};
  std::vector<ManifestEntry> manifest;
  std::vector<std::uint32_t> sums;
  std::vector<unsigned char> data;

  explicit Sample(std::uint64_t bytes = 3 * kChunkBytes + 100) : data(bytes, 0x5A) {
    for (int i = 0; i < 3; ++i) {
      ManifestEntry entry{};
      std::snprintf(entry.name, sizeof entry.name, "blk.%d.attn_q.weight", i);
      entry.offset = static_cast<std::uint64_t>(i) * 4096;
      entry.bytes = 4096;
      manifest.push_back(entry);
    }
    for (std::uint64_t i = 0; i < chunk_count(bytes); ++i) {
      sums.push_back(checksum(data.data() + i * kChunkBytes, chunk_length(bytes, i)));
    }
    lay_out(header, bytes, 3);
    std::strcpy(header.key, "key");
    std::strcpy(header.buffer_type, "CPU_REPACK");
    seal_all();
  }

  void seal_all() {
    header.manifest_sum = checksum(manifest.data(), manifest.size() * sizeof manifest[0]);
    header.sums_sum = checksum(sums.data(), sums.size() * sizeof sums[0]);
    seal(header);
  }
  [[nodiscard]] Reason header_verdict() const { return check_header(header, header.file_bytes, {"key", 0}); }
  [[nodiscard]] Reason table_verdict() const { return check_tables(header, manifest.data(), sums.data()); }
};

TEST(PackedHeader, ASoundOnePasses) {
  const Sample sample;
  EXPECT_EQ(sample.header_verdict(), Reason::kNone);
  EXPECT_EQ(sample.table_verdict(), Reason::kNone);
  for (std::uint64_t i = 0; i < sample.sums.size(); ++i) {
    EXPECT_TRUE(chunk_matches(sample.header, sample.sums.data(), i, sample.data.data()));
  }
}

TEST(PackedHeader, EveryFlippedBitIsRefused) {
  Sample sample;
  auto* bytes = reinterpret_cast<unsigned char*>(&sample.header);
  const std::uint64_t real = sample.header.file_bytes;
  for (std::size_t bit = 0; bit < sizeof sample.header * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
    ASSERT_NE(check_header(sample.header, real, {"key", 0}), Reason::kNone) << "bit " << bit;
    bytes[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
  }
}

TEST(PackedHeader, NamesTheReason) {
  Sample sample;
  EXPECT_EQ(check_header(sample.header, sample.header.file_bytes - 1, {"key", 0}), Reason::kShort);
  EXPECT_EQ(check_header(sample.header, sample.header.file_bytes + 1, {"key", 0}), Reason::kBadHeader);
  EXPECT_EQ(check_header(sample.header, sample.header.file_bytes, {"other", 0}), Reason::kOtherKey);
  EXPECT_EQ(check_header(sample.header, sample.header.file_bytes, {"key", 1}), Reason::kOtherKey);
  Sample newer;
  newer.header.version = kFormatVersion + 1;
  newer.seal_all();
  EXPECT_EQ(newer.header_verdict(), Reason::kNewerVersion);
  Sample older;
  older.header.version = 0;
  older.seal_all();
  EXPECT_EQ(older.header_verdict(), Reason::kOlderVersion);
  Sample foreign;
  foreign.header.magic[0] = 'X';
  EXPECT_EQ(foreign.header_verdict(), Reason::kBadMagic);
}

TEST(PackedHeader, HostileSizesWithARightChecksumAreRefused) {
  const std::uint64_t hostile[] = {0, 1, UINT64_MAX, UINT64_MAX - kDataOffset, 1ULL << 46};
  for (const std::uint64_t value : hostile) {
    for (std::uint64_t FileHeader::*field :
         {&FileHeader::data_bytes, &FileHeader::data_offset, &FileHeader::manifest_offset, &FileHeader::sums_offset}) {
      Sample sample;
      sample.header.*field = value;
      seal(sample.header);
      EXPECT_NE(sample.header_verdict(), Reason::kNone) << value;
    }
  }
  for (const std::uint32_t count : {0U, kMaxTensors + 1, UINT32_MAX}) {
    Sample sample;
    sample.header.tensor_count = count;
    seal(sample.header);
    EXPECT_NE(sample.header_verdict(), Reason::kNone) << count;
  }
}

TEST(PackedHeader, TextMustEnd) {
  Sample sample;
  std::memset(sample.header.buffer_type, 'x', sizeof sample.header.buffer_type);
  seal(sample.header);
  EXPECT_EQ(sample.header_verdict(), Reason::kBadHeader);
}

TEST(PackedTables, EveryFlippedBitIsRefused) {
  Sample sample;
  auto* bytes = reinterpret_cast<unsigned char*>(sample.manifest.data());
  for (std::size_t bit = 0; bit < sample.manifest.size() * sizeof(ManifestEntry) * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
    ASSERT_EQ(sample.table_verdict(), Reason::kBadManifest) << bit;
    bytes[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
  }
  sample.sums[1] ^= 1;
  EXPECT_EQ(sample.table_verdict(), Reason::kBadManifest);
}

TEST(PackedTables, EntriesOutsideTheDataAreRefused) {
  const auto verdict = [](auto&& change) {
    Sample sample;
    change(sample.manifest[1]);
    sample.seal_all();
    return sample.table_verdict();
  };
  EXPECT_EQ(verdict([](ManifestEntry& e) { e.offset = UINT64_MAX; }), Reason::kBadManifest);
  EXPECT_EQ(verdict([](ManifestEntry& e) { e.bytes = UINT64_MAX; }), Reason::kBadManifest);
  EXPECT_EQ(verdict([](ManifestEntry& e) { e.bytes = 0; }), Reason::kBadManifest);
  EXPECT_EQ(verdict([](ManifestEntry& e) { e.offset = 3 * kChunkBytes + 100; }), Reason::kBadManifest);
  EXPECT_EQ(verdict([](ManifestEntry& e) { e.name[0] = '\0'; }), Reason::kBadManifest);
  EXPECT_EQ(verdict([](ManifestEntry& e) { std::memset(e.name, 'n', sizeof e.name); }), Reason::kBadManifest);
}

TEST(PackedChunks, AFlippedBitIsSeenInItsChunkOnly) {
  Sample sample;
  sample.data[2 * kChunkBytes + 5] ^= 0x10;
  for (std::uint64_t i = 0; i < sample.sums.size(); ++i) {
    EXPECT_EQ(chunk_matches(sample.header, sample.sums.data(), i, sample.data.data()), i != 2);
  }
}

TEST(Layers, AreReadFromNames) {
  EXPECT_EQ(layer_of("blk.0.attn_q.weight"), 0);
  EXPECT_EQ(layer_of("blk.31.ffn_down.weight"), 31);
  EXPECT_EQ(layer_of("token_embd.weight"), -1);
  EXPECT_EQ(layer_of("blk.x.weight"), -1);
  EXPECT_EQ(layer_of("blk."), -1);
  EXPECT_EQ(layer_of("blk.12"), -1);
  EXPECT_EQ(layer_of("v.blk.3.attn_q.weight"), 3);
}

}  // namespace
}  // namespace hearth::tier
