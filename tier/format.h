// The packed weight file as plain values: layout, writing of the parts around the data, checking of what was read.
// Specified in docs/packed-format.md; the names of fields are the same there. Pure: no I/O, no clock, no allocation.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "protocol.h"

namespace hearth::tier {

inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::uint64_t kDataOffset = 2u << 20;
inline constexpr std::uint32_t kChunkBytes = 1u << 20;
inline constexpr std::uint32_t kMaxTensors = 1u << 20;
inline constexpr std::uint64_t kFilePage = 4096;
inline constexpr bool kByteOrderFits = std::endian::native == std::endian::little;

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t file_bytes;
  std::uint64_t data_offset;
  std::uint64_t data_bytes;
  std::uint64_t manifest_offset;
  std::uint64_t sums_offset;
  std::uint32_t tensor_count;
  std::uint32_t chunk_bytes;
  std::uint32_t chunk_count;
  std::uint32_t ordinal;
  std::uint64_t engine;
  std::uint64_t created;
  std::uint32_t manifest_sum;
  std::uint32_t sums_sum;
  char key[128];
  char buffer_type[64];
  unsigned char zero[4092 - 288];
  std::uint32_t header_sum;
};
static_assert(sizeof(FileHeader) == 4096);

struct ManifestEntry {
  char name[96];
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t source;
  std::uint64_t zero;
};
static_assert(sizeof(ManifestEntry) == 128);

/// What the reader demands of a file. Fields left at their default are not compared.
struct Expectation {
  const char* key = nullptr;
  std::uint32_t ordinal = 0;
};

/// Bytes from the start of the file to its end for a buffer of this size and so many tensors.
[[nodiscard]] std::uint64_t file_bytes(std::uint64_t data_bytes, std::uint64_t tensor_count);

/// Where the manifest begins: after the data, rounded up to a page.
[[nodiscard]] std::uint64_t manifest_offset(std::uint64_t data_bytes);

/// Chunks of a buffer of this size.
[[nodiscard]] std::uint64_t chunk_count(std::uint64_t data_bytes);

/// Bytes of chunk `index` (the last one may be short).
[[nodiscard]] std::uint64_t chunk_length(std::uint64_t data_bytes, std::uint64_t index);

/// Fills every field that follows from sizes; the caller sets key, buffer_type, ordinal, engine, created and the two
/// sums of the tables, then calls seal().
void lay_out(FileHeader& header, std::uint64_t data_bytes, std::uint32_t tensor_count);

/// Writes the header's own checksum.
void seal(FileHeader& header);

/// Checks a header against the real length of its file. Never reads beyond the header; trusts no field.
[[nodiscard]] Reason check_header(const FileHeader& header, std::uint64_t real_file_bytes, const Expectation& expected);

/// Checks both tables against a header that passed check_header(). `manifest` has tensor_count entries, `sums`
/// chunk_count.
[[nodiscard]] Reason check_tables(const FileHeader& header, const ManifestEntry* manifest, const std::uint32_t* sums);

/// Checks one chunk of the data.
[[nodiscard]] bool chunk_matches(const FileHeader& header, const std::uint32_t* sums, std::uint64_t index,
                                 const void* data);

/// The layer in a tensor's name ("blk.12.…" -> 12), -1 where there is none.
[[nodiscard]] std::int32_t layer_of(const char* name);

}  // namespace hearth::tier
