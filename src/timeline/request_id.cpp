#include "timeline/request_id.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <string_view>

namespace hearth::timeline {
namespace {

constexpr std::string_view kCrockford = "0123456789abcdefghjkmnpqrstvwxyz";

std::uint64_t big_endian(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  for (const auto byte : bytes)
    value = value << 8 | byte;
  return value;
}

void append_base32(std::string& text, std::uint64_t value, int digits) {
  for (int shift = 5 * (digits - 1); shift >= 0; shift -= 5)
    text += kCrockford[value >> shift & 31];
}

}  // namespace

std::string request_id(base::Wall at, const IdRandom& random) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(at.time_since_epoch()).count();
  const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(0, ms));
  std::string text;
  text.reserve(26);
  append_base32(text, time, 10);
  append_base32(text, big_endian(std::span(random).first<5>()), 8);
  append_base32(text, big_endian(std::span(random).last<5>()), 8);
  return text;
}

IdRandom system_random() {
  thread_local std::random_device device;
  std::array<std::uint32_t, 3> words{};
  std::ranges::generate(words, std::ref(device));
  IdRandom random;
  std::memcpy(random.data(), words.data(), random.size());
  return random;
}

}  // namespace hearth::timeline
