#include "settings.h"

#include <cstdlib>
#include <cstring>

namespace hearth::tier {
namespace {

constexpr char kPrefix[] = "HEARTH_TIER_";
constexpr std::size_t kPrefixLength = sizeof kPrefix - 1;

const char* value_of(const char* const* environment, const char* name) {
  const std::size_t length = std::strlen(name);
  for (; *environment != nullptr; ++environment) {
    const char* entry = *environment;
    if (std::strncmp(entry, kPrefix, kPrefixLength) != 0) continue;
    entry += kPrefixLength;
    if (std::strncmp(entry, name, length) == 0 && entry[length] == '=') return entry + length + 1;
  }
  return nullptr;
}

/// Decimal, whole string, at most `limit`; `fallback` for anything else.
std::uint64_t number(const char* text, std::uint64_t limit, std::uint64_t fallback) {
  if (text == nullptr || *text < '0' || *text > '9') return fallback;
  std::uint64_t value = 0;
  for (; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9') return fallback;
    const auto digit = static_cast<std::uint64_t>(*text - '0');
    if (value > (UINT64_MAX - digit) / 10) return fallback;
    value = value * 10 + digit;
  }
  return value <= limit ? value : fallback;
}

bool is(const char* text, const char* word) { return text != nullptr && std::strcmp(text, word) == 0; }

template <std::size_t N>
void copy_whole(char (&to)[N], const char* from) {
  if (from == nullptr || std::strlen(from) >= N) return;
  std::strcpy(to, from);
}

bool key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

bool valid_key(const char* key) {
  const std::size_t length = std::strlen(key);
  if (length == 0 || length > 127 || key[0] == '.') return false;
  for (std::size_t i = 0; i < length; ++i) {
    if (!key_character(key[i])) return false;
  }
  return true;
}

Settings parse_settings(const char* const* environment) {
  constexpr std::uint64_t kNotGiven = UINT64_MAX;
  Settings settings;
  const std::uint64_t socket = number(value_of(environment, "FD"), 1 << 20, kNotGiven);
  if (socket != kNotGiven) settings.socket = static_cast<int>(socket);
  settings.protocol = static_cast<std::uint32_t>(number(value_of(environment, "PROTOCOL"), UINT32_MAX, 0));
  settings.arena = !is(value_of(environment, "ARENA"), "off");
  settings.publish = !is(value_of(environment, "PACK"), "off");
  settings.verbose = is(value_of(environment, "VERBOSE"), "1");
  const char* check = value_of(environment, "CHECK");
  if (is(check, "sample")) settings.check = CheckMode::kSample;
  if (is(check, "none")) settings.check = CheckMode::kNone;
  const std::uint64_t readers = number(value_of(environment, "READERS"), 16, 0);
  if (readers > 0) settings.readers = static_cast<unsigned>(readers);
  settings.quota = number(value_of(environment, "QUOTA"), UINT64_MAX, UINT64_MAX);
  copy_whole(settings.directory, value_of(environment, "DIR"));
  copy_whole(settings.model, value_of(environment, "MODEL"));
  const char* key = value_of(environment, "KEY");
  if (key != nullptr && valid_key(key)) copy_whole(settings.key, key);
  return settings;
}

void scrub_settings(char** environment) {
  char** kept = environment;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, kPrefix, kPrefixLength) != 0) *kept++ = *entry;
  }
  *kept = nullptr;
}

}  // namespace hearth::tier
