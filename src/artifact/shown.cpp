#include "artifact/shown.h"

#include <algorithm>

namespace hearth::artifact {
namespace {

std::size_t expected_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

// The second byte's range excludes overlong forms, surrogates and numbers beyond U+10FFFF (Unicode, table 3-7).
bool second_fits(unsigned char lead, unsigned char second) {
  switch (lead) {
    case 0xe0:
      return second >= 0xa0;
    case 0xed:
      return second <= 0x9f;
    case 0xf0:
      return second >= 0x90;
    case 0xf4:
      return second <= 0x8f;
    default:
      return true;
  }
}

// Bytes of the character at the front; 0 when there is no valid one.
std::size_t character_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = expected_length(lead);
  if (length == 0 || length > text.size()) return 0;
  const auto is_continuation = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  if (!std::ranges::all_of(text.substr(1, length - 1), is_continuation)) return 0;
  return length == 1 || second_fits(lead, static_cast<unsigned char>(text[1])) ? length : 0;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::string shown(std::string_view text, std::size_t most) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const bool good = length > 0 && !is_control(text.front());
    const std::string_view piece = good ? text.substr(0, length) : "?";
    if (clean.size() + piece.size() > most) return clean + "…";
    clean += piece;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return clean;
}

}  // namespace hearth::artifact
