#pragma once
// Finds the beginnings that prompts of one model repeat, from the prompts that pass. Pure, bounded in memory; one
// object a fingerprint. Thread: one at a time.
//
// A beginning repeats where two prompts are the same up to a token and then go on differently, or are the same
// altogether. A prompt that only continues another is a conversation: its beginning is not a header, and is not told.
#include <cstddef>
#include <deque>
#include <optional>

#include "prefix/tokens.h"

namespace hearth::prefix {

struct DiscoveryLimits {
  std::size_t least = 128;          // tokens of a beginning worth keeping
  std::size_t prompts = 64;         // remembered
  std::size_t tokens = 512 * 1024;  // of all of them together (4 bytes each)
};

class Discovery {
 public:
  explicit Discovery(DiscoveryLimits limits = {}) : limits_(limits) {}

  // The longest beginning that this prompt shares with an earlier one in that way; how many tokens of it. The prompt is
  // remembered.
  [[nodiscard]] std::optional<std::size_t> note(Tokens prompt);
  // The remembered prompt that shares most with this one, without being its beginning; for telling what changed.
  [[nodiscard]] const Tokens* nearest(TokenView prompt) const;
  [[nodiscard]] std::size_t remembered_tokens() const { return held_; }

 private:
  DiscoveryLimits limits_;
  std::deque<Tokens> prompts_;  // newest at the back
  std::size_t held_ = 0;
};

}  // namespace hearth::prefix
