#include "checksum.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace hearth::tier {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // reflected
constexpr std::size_t kSourcePage = 4096;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    table[i] = value;
  }
  return table;
}

constexpr auto kTable = make_table();

std::uint64_t load64(const unsigned char* from) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

#if defined(__x86_64__)
// Bit 20 of ecx in leaf 1. Asked directly: the compiler's helper needs a constructor that may run after ours.
bool cpu_has_crc() {
  unsigned a = 1, b = 0, c = 0, d = 0;
  __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return ((c >> 20) & 1) != 0;
}

__attribute__((target("sse4.2"))) std::uint32_t crc_run(const unsigned char* bytes, std::size_t size) {
  std::uint64_t crc = UINT32_MAX;
  for (; size >= 8; bytes += 8, size -= 8)
    crc = _mm_crc32_u64(crc, load64(bytes));
  auto tail = static_cast<std::uint32_t>(crc);
  for (; size > 0; ++bytes, --size)
    tail = _mm_crc32_u8(tail, *bytes);
  return ~tail;
}

__attribute__((target("sse4.2"))) void crc_lanes(const unsigned char* bytes, std::size_t lane, std::uint32_t* out) {
  std::uint64_t crc[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
  for (std::size_t at = 0; at < lane; at += 8) {
    for (std::size_t i = 0; i < 4; ++i)
      crc[i] = _mm_crc32_u64(crc[i], load64(bytes + i * lane + at));
  }
  for (std::size_t i = 0; i < 4; ++i)
    out[i] = ~static_cast<std::uint32_t>(crc[i]);
}
#else
bool cpu_has_crc() { return false; }
std::uint32_t crc_run(const unsigned char* bytes, std::size_t size) { return crc32c_portable(bytes, size); }
void crc_lanes(const unsigned char*, std::size_t, std::uint32_t*) {}
#endif

std::uint32_t crc_update(std::uint32_t state, const unsigned char* bytes, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    state = (state >> 8) ^ kTable[(state ^ bytes[i]) & 0xFF];
  return state;
}

std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 32;
  value *= 0xD6E8FEB86659FD93ULL;
  return value ^ (value >> 32);
}

}  // namespace

std::uint32_t crc32c_portable(const void* bytes, std::size_t size) {
  return ~crc_update(UINT32_MAX, static_cast<const unsigned char*>(bytes), size);
}

std::uint32_t crc32c(const void* bytes, std::size_t size) {
  if (!cpu_has_crc()) return crc32c_portable(bytes, size);
  return crc_run(static_cast<const unsigned char*>(bytes), size);
}

std::uint32_t checksum(const void* bytes, std::size_t size) {
  const auto* begin = static_cast<const unsigned char*>(bytes);
  const std::size_t lane = size / 32 * 8;
  std::uint32_t lanes[4] = {};
  if (cpu_has_crc()) {
    crc_lanes(begin, lane, lanes);
  } else {
    for (std::size_t i = 0; i < 4; ++i)
      lanes[i] = crc32c_portable(begin + i * lane, lane);
  }
  unsigned char last[sizeof lanes + 32];
  std::memcpy(last, lanes, sizeof lanes);
  const std::size_t rest = size - 4 * lane;
  if (rest > 0) std::memcpy(last + sizeof lanes, begin + 4 * lane, rest);
  return crc32c(last, sizeof lanes + rest);
}

std::uint64_t hash64(const void* bytes, std::size_t size, std::uint64_t seed) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  std::uint64_t value = mix(seed ^ (size * 0x9E3779B97F4A7C15ULL));
  for (; size >= 8; at += 8, size -= 8)
    value = mix(value ^ load64(at)) + 0x9E3779B97F4A7C15ULL;
  std::uint64_t tail = 0;
  if (size > 0) std::memcpy(&tail, at, size);
  return mix(value ^ tail);
}

SourceSample source_sample(const char* name, std::size_t size) {
  if (size <= 4 * kSourcePage) return {0, size};
  const std::uint64_t seed = hash64(name, std::strlen(name), size);
  return {seed % (size / kSourcePage) * kSourcePage, kSourcePage};
}

std::uint64_t source_fingerprint(const char* name, const void* bytes, std::size_t size) {
  const SourceSample sample = source_sample(name, size);
  return hash64(static_cast<const unsigned char*>(bytes) + sample.offset, sample.bytes,
                hash64(name, std::strlen(name), size));
}

}  // namespace hearth::tier
