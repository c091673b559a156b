#include "format.h"

#include <cstring>

#include "checksum.h"

namespace hearth::tier {
namespace {

constexpr char kMagicText[8] = {'H', 'R', 'T', 'H', 'P', 'A', 'C', 'K'};

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

std::uint32_t header_sum(const FileHeader& header) { return checksum(&header, offsetof(FileHeader, header_sum)); }

template <std::size_t N>
bool terminated(const char (&text)[N]) {
  return std::memchr(text, '\0', N) != nullptr;
}

bool sizes_agree(const FileHeader& header, std::uint64_t real_file_bytes) {
  constexpr std::uint64_t kSane = 1ULL << 46;
  if (header.data_bytes == 0 || header.data_bytes > kSane) return false;
  if (header.tensor_count == 0 || header.tensor_count > kMaxTensors) return false;
  FileHeader right{};
  lay_out(right, header.data_bytes, header.tensor_count);
  return header.header_bytes == right.header_bytes && header.data_offset == right.data_offset &&
         header.manifest_offset == right.manifest_offset && header.sums_offset == right.sums_offset &&
         header.chunk_bytes == right.chunk_bytes && header.chunk_count == right.chunk_count &&
         header.file_bytes == right.file_bytes && header.file_bytes == real_file_bytes;
}

bool entry_fits(const ManifestEntry& entry, std::uint64_t data_bytes) {
  return terminated(entry.name) && entry.name[0] != '\0' && entry.bytes > 0 && entry.bytes <= data_bytes &&
         entry.offset <= data_bytes - entry.bytes;
}

}  // namespace

std::uint64_t manifest_offset(std::uint64_t data_bytes) { return round_up(kDataOffset + data_bytes, kFilePage); }

std::uint64_t chunk_count(std::uint64_t data_bytes) { return (data_bytes + kChunkBytes - 1) / kChunkBytes; }

std::uint64_t chunk_length(std::uint64_t data_bytes, std::uint64_t index) {
  const std::uint64_t left = data_bytes - index * kChunkBytes;
  return left < kChunkBytes ? left : kChunkBytes;
}

std::uint64_t file_bytes(std::uint64_t data_bytes, std::uint64_t tensor_count) {
  return manifest_offset(data_bytes) + tensor_count * sizeof(ManifestEntry) +
         chunk_count(data_bytes) * sizeof(std::uint32_t);
}

void lay_out(FileHeader& header, std::uint64_t data_bytes, std::uint32_t tensor_count) {
  std::memcpy(header.magic, kMagicText, sizeof header.magic);
  header.version = kFormatVersion;
  header.header_bytes = sizeof(FileHeader);
  header.file_bytes = file_bytes(data_bytes, tensor_count);
  header.data_offset = kDataOffset;
  header.data_bytes = data_bytes;
  header.manifest_offset = manifest_offset(data_bytes);
  header.sums_offset = header.manifest_offset + std::uint64_t{tensor_count} * sizeof(ManifestEntry);
  header.tensor_count = tensor_count;
  header.chunk_bytes = kChunkBytes;
  header.chunk_count = static_cast<std::uint32_t>(chunk_count(data_bytes));
}

void seal(FileHeader& header) { header.header_sum = header_sum(header); }

Reason check_header(const FileHeader& header, std::uint64_t real_file_bytes, const Expectation& expected) {
  if (std::memcmp(header.magic, kMagicText, sizeof header.magic) != 0) return Reason::kBadMagic;
  if (header.version < kFormatVersion) return Reason::kOlderVersion;
  if (header.version > kFormatVersion) return Reason::kNewerVersion;
  if (header.header_sum != header_sum(header)) return Reason::kBadHeader;
  if (real_file_bytes < header.file_bytes) return Reason::kShort;
  if (!sizes_agree(header, real_file_bytes)) return Reason::kBadHeader;
  if (!terminated(header.key) || !terminated(header.buffer_type)) return Reason::kBadHeader;
  if (header.ordinal != expected.ordinal) return Reason::kOtherKey;
  if (expected.key != nullptr && std::strcmp(header.key, expected.key) != 0) return Reason::kOtherKey;
  return Reason::kNone;
}

Reason check_tables(const FileHeader& header, const ManifestEntry* manifest, const std::uint32_t* sums) {
  const std::size_t manifest_bytes = std::size_t{header.tensor_count} * sizeof(ManifestEntry);
  if (checksum(manifest, manifest_bytes) != header.manifest_sum) return Reason::kBadManifest;
  if (checksum(sums, std::size_t{header.chunk_count} * sizeof *sums) != header.sums_sum) return Reason::kBadManifest;
  for (std::uint32_t i = 0; i < header.tensor_count; ++i) {
    if (!entry_fits(manifest[i], header.data_bytes)) return Reason::kBadManifest;
  }
  return Reason::kNone;
}

bool chunk_matches(const FileHeader& header, const std::uint32_t* sums, std::uint64_t index, const void* data) {
  const auto* begin = static_cast<const unsigned char*>(data) + index * kChunkBytes;
  return checksum(begin, chunk_length(header.data_bytes, index)) == sums[index];
}

std::int32_t layer_of(const char* name) {
  constexpr std::int32_t kLimit = 1 << 20;
  const char* at = std::strstr(name, "blk.");
  if (at == nullptr) return -1;
  at += 4;
  if (*at < '0' || *at > '9') return -1;
  std::int32_t layer = 0;
  for (; *at >= '0' && *at <= '9' && layer < kLimit; ++at)
    layer = layer * 10 + (*at - '0');
  return *at == '.' ? layer : -1;
}

}  // namespace hearth::tier
