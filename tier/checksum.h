// Checksums and fingerprints of docs/packed-format.md. Pure; no allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::tier {

/// CRC-32C (Castagnoli) of one run of bytes. Uses the CPU's instruction where it has one, else tables.
[[nodiscard]] std::uint32_t crc32c(const void* bytes, std::size_t size);

/// The tables' answer, for comparison in tests.
[[nodiscard]] std::uint32_t crc32c_portable(const void* bytes, std::size_t size);

/// The four-lane checksum of docs/packed-format.md, "Checksums".
[[nodiscard]] std::uint32_t checksum(const void* bytes, std::size_t size);

/// 64-bit multiply-xor hash; not for adversaries.
[[nodiscard]] std::uint64_t hash64(const void* bytes, std::size_t size, std::uint64_t seed);

/// The part of a tensor that its fingerprint is made of.
struct SourceSample {
  std::size_t offset;
  std::size_t bytes;
};
[[nodiscard]] SourceSample source_sample(const char* name, std::size_t size);

/// Fingerprint of a tensor's unpacked bytes: size and one page, or everything up to four pages.
[[nodiscard]] std::uint64_t source_fingerprint(const char* name, const void* bytes, std::size_t size);

}  // namespace hearth::tier
