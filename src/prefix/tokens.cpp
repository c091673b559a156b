#include "prefix/tokens.h"

#include <algorithm>
#include <cstring>

#include "base/sha256.h"

namespace hearth::prefix {
namespace {

std::string_view bytes_of(TokenView tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes()};
}

}  // namespace

std::vector<std::uint64_t> block_chain(std::string_view seed, TokenView tokens) {
  std::vector<std::uint64_t> chain;
  chain.reserve(tokens.size() / kBlockTokens);
  std::string before(seed);
  for (std::size_t at = 0; at + kBlockTokens <= tokens.size(); at += kBlockTokens) {
    base::Sha256 hash;
    hash.add_part(before);
    hash.add(bytes_of(tokens.subspan(at, kBlockTokens)));
    const auto digest = hash.finish();
    before.assign(reinterpret_cast<const char*>(digest.data()), digest.size());
    std::uint64_t block = 0;
    std::memcpy(&block, digest.data(), sizeof block);
    chain.push_back(block);
  }
  return chain;
}

std::size_t common_prefix(TokenView one, TokenView other) {
  const auto [end, ignored] = std::ranges::mismatch(one, other);
  return static_cast<std::size_t>(end - one.begin());
}

std::string key_of(std::string_view seed, TokenView tokens) {
  base::Sha256 hash;
  hash.add_part(seed);
  hash.add(bytes_of(tokens));
  return hash.finish_hex().substr(0, 32);
}

}  // namespace hearth::prefix
