#pragma once
// What the library's spans say about one request. Pure.
//
// A span knows its thread and its time, not its request: requests that run together share what is in their windows. The
// figures are the time in which at least one such span ran, within the window, so none exceeds it.
#include <optional>
#include <span>

#include "base/clock.h"
#include "engine/tier_types.h"

namespace hearth::engine {

// Empty: no span of that kind lay in the window, as when the library has no probe there or nothing of it happened.
struct TierShare {
  std::optional<double> tokenize_ms;       // text into tokens
  std::optional<double> prefill_ms;        // computing that began before the first token (or the end, where none came)
  std::optional<double> state_restore_ms;  // a sequence's state copied in
};

// `begin`: the request was sent to the engine; `end`: its last byte came. The first token's own instant is when Hearth
// saw it, a moment after the engine had it; computing that began earlier counts as prefill up to that instant.
[[nodiscard]] TierShare tier_share(std::span<const TierSpan> spans, base::Mono begin,
                                   std::optional<base::Mono> first_token, base::Mono end);

}  // namespace hearth::engine
