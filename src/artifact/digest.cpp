#include "artifact/digest.h"

#include <algorithm>

namespace hearth::artifact {
namespace {

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::optional<Digest> Digest::parse(std::string_view text) {
  if (text.size() != kTextLength || !std::ranges::all_of(text, is_hex)) return std::nullopt;
  Digest digest;
  digest.text_ = text;
  return digest;
}

Digest sha256(std::string_view bytes) {
  base::Sha256 hash;
  hash.add(bytes);
  return Digest(hash);
}

}  // namespace hearth::artifact
