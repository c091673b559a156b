#include "prefix/state_head.h"

#include <array>
#include <cstring>

namespace hearth::prefix {

base::Status state_holds(std::string_view head, TokenView tokens) {
  // magic, version, count, then the server's wrapper: -1, its version, number of tokens; one more word ends it
  std::array<std::uint32_t, 6> words{};
  if (head.size() < state_head_bytes(tokens.size()))
    return base::fail(base::ErrorCode::corrupt, "the engine's state file is shorter than its tokens");
  std::memcpy(words.data(), head.data(), sizeof words);
  const bool known = head.starts_with("qsgg") && (words[1] == 3 || words[1] == 4) && words[3] == 0xffffffffU &&
                     words[4] == 1 && words[2] == words[5] + 4;
  if (!known) return base::fail(base::ErrorCode::unsupported, "this engine writes states in a form that is not known");
  const bool same =
      words[5] == tokens.size() && std::memcmp(head.data() + sizeof words, tokens.data(), tokens.size_bytes()) == 0;
  if (!same) return base::fail(base::ErrorCode::corrupt, "the engine's state is one of other tokens");
  return {};
}

}  // namespace hearth::prefix
