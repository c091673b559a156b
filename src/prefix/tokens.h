#pragma once
// Token sequences and the hash chain over their blocks. Pure; any thread.
//
// A block's hash covers the seed (the fingerprint) and every token before it, so equal hashes at equal depth mean equal
// beginnings. It is only a way to find things: whoever acts on a match compares the tokens.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::prefix {

using Token = std::int32_t;
using Tokens = std::vector<Token>;
using TokenView = std::span<const Token>;

inline constexpr std::size_t kBlockTokens = 32;

// One hash for each whole block; tokens after the last whole block are not covered.
[[nodiscard]] std::vector<std::uint64_t> block_chain(std::string_view seed, TokenView tokens);

// How many tokens both begin with.
[[nodiscard]] std::size_t common_prefix(TokenView one, TokenView other);

// 32 hexadecimal digits that stand for these tokens under this seed (docs/prefix-format.md, key).
[[nodiscard]] std::string key_of(std::string_view seed, TokenView tokens);

}  // namespace hearth::prefix
