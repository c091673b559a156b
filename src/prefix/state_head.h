#pragma once
// The beginning of the engine's own state file: which tokens it says it is the state of. Pure.
#include <string_view>

#include "base/result.h"
#include "prefix/tokens.h"

namespace hearth::prefix {

// Bytes of the file's beginning that state_holds needs for so many tokens.
[[nodiscard]] constexpr std::size_t state_head_bytes(std::size_t tokens) { return 24 + tokens * sizeof(Token); }

// `head`: the first bytes of the file, at least state_head_bytes(tokens.size()) of them.
// Errors: unsupported when the layout is not the one of docs/prefix-format.md; corrupt when it holds other tokens.
[[nodiscard]] base::Status state_holds(std::string_view head, TokenView tokens);

}  // namespace hearth::prefix
