#include "engine/packed_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace hearth::engine {
namespace {

constexpr std::uint8_t kKeyFormat = 1;

class Hash {
 public:
  void add(std::uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001b3ULL; }
  void add(std::size_t count) {
    for (unsigned shift = 0; shift < 64; shift += 8)
      add(static_cast<std::uint8_t>(static_cast<std::uint64_t>(count) >> shift));
  }
  void add(std::string_view text) {
    add(text.size());
    for (const char c : text)
      add(static_cast<std::uint8_t>(c));
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

bool is_plain(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// What people can read of a part; the hash tells apart what this makes equal.
std::string legible(std::string_view text, std::size_t most) {
  std::string kept;
  for (const char c : text.substr(0, most))
    kept += is_plain(c) || c == '.' || c == '_' ? c : '_';
  if (kept.empty() || kept.front() == '.') kept.insert(0, "_");
  return kept.substr(0, most);
}

std::string_view without_scheme(std::string_view digest) {
  constexpr std::string_view kScheme = "sha256:";
  return digest.starts_with(kScheme) ? digest.substr(kScheme.size()) : digest;
}

std::uint64_t hash_of(const PackedKeyParts& parts) {
  Hash hash;
  hash.add(kKeyFormat);
  hash.add(without_scheme(parts.content_digest));
  hash.add(parts.engine_version);
  hash.add(static_cast<std::uint8_t>(parts.engine_build.has_value()));
  hash.add(parts.engine_build.value_or(""));
  auto backends = parts.backends;
  std::ranges::sort(backends);
  hash.add(backends.size());
  for (const auto& backend : backends)
    hash.add(backend);
  hash.add(parts.flags.size());
  for (const auto& flag : parts.flags)
    hash.add(flag);
  hash.add(parts.environment.size());
  for (const auto& [name, value] : parts.environment) {
    hash.add(name);
    hash.add(value);
  }
  return hash.value();
}

}  // namespace

std::string make_packed_key(const PackedKeyParts& parts) {
  return fmt::format("{}-{}-{:016x}", legible(without_scheme(parts.content_digest), 64),
                     legible(parts.engine_build.value_or(parts.engine_version), 16), hash_of(parts));
}

}  // namespace hearth::engine
