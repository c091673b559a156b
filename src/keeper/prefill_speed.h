#pragma once
// How fast an engine evaluates prompts, learnt from what it says of its answers. Pure.
#include <cstdint>
#include <optional>

#include "domain/request.h"

namespace hearth::keeper {

class PrefillSpeed {
 public:
  static constexpr std::int64_t kLeastTokens = 64;  // fewer tell more of what every request costs

  // Later answers count more. Which answers tell something is for the caller to say.
  void learn(const domain::EngineTimings& timings) {
    if (timings.prompt_tokens < kLeastTokens || !(timings.prompt_ms > 0)) return;
    const double now = timings.prompt_ms / static_cast<double>(timings.prompt_tokens);
    ms_per_token_ = ms_per_token_ ? 0.7 * *ms_per_token_ + 0.3 * now : now;
  }
  // Empty before the first.
  [[nodiscard]] std::optional<double> ms_per_token() const { return ms_per_token_; }

 private:
  std::optional<double> ms_per_token_;
};

}  // namespace hearth::keeper
