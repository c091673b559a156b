#include "prefix/discovery.h"

#include <algorithm>

namespace hearth::prefix {

std::optional<std::size_t> Discovery::note(Tokens prompt) {
  if (prompt.empty()) return std::nullopt;
  std::size_t longest = 0;
  for (const Tokens& earlier : prompts_) {
    const std::size_t shared = common_prefix(earlier, prompt);
    const bool same = earlier.size() == prompt.size() && shared == prompt.size();
    // Of two equal prompts the last token is always evaluated again.
    const std::size_t usable = same ? shared - 1 : shared;
    const bool continues = !same && (shared == earlier.size() || shared == prompt.size());
    if (!continues) longest = std::max(longest, usable);
  }
  if (prompt.size() <= limits_.tokens) {
    held_ += prompt.size();
    prompts_.push_back(std::move(prompt));
  }
  while (held_ > limits_.tokens || prompts_.size() > limits_.prompts) {
    held_ -= prompts_.front().size();
    prompts_.pop_front();
  }
  if (longest < limits_.least) return std::nullopt;
  return longest;
}

const Tokens* Discovery::nearest(TokenView prompt) const {
  const Tokens* best = nullptr;
  std::size_t most = 0;
  for (const Tokens& earlier : prompts_) {
    const std::size_t shared = common_prefix(earlier, prompt);
    if (shared <= most || shared == earlier.size() || shared == prompt.size()) continue;
    most = shared;
    best = &earlier;
  }
  return best;
}

}  // namespace hearth::prefix
