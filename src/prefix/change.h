#pragma once
// Names what broke a prefix: where two prompts part though they go on alike, and what kind of thing differs there.
// Pure.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "prefix/tokens.h"

namespace hearth::prefix {

enum class ChangeKind { clock, date, weekday, identifier, number, text };
// "a clock", "a date", …
[[nodiscard]] std::string_view phrase_of(ChangeKind kind);

struct Change {
  std::size_t token = 0;   // index of the first token that differs
  std::size_t tokens = 0;  // that follow the change, are the same again, and must be evaluated all the same
  ChangeKind kind = ChangeKind::text;
  std::string before;  // what stood there, cut to some 40 bytes, fit to print
  std::string after;
};

inline constexpr std::size_t kLeastLoss = 64;  // tokens after a change that make it worth telling

// The rendered prompts and their tokens. Empty when they do not part, or do not come together again for kLeastLoss
// tokens: then the prompts are simply different.
[[nodiscard]] std::optional<Change> find_change(std::string_view old_text, TokenView old_tokens,
                                                std::string_view new_text, TokenView new_tokens);

}  // namespace hearth::prefix
