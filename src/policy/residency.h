#pragma once
// What happens to one request for a model: served as things stand, a load (after demotions), a wait, or a refusal.
// Joins fit, eviction and classes; the same call in the live server and in a replay.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/admission.h"
#include "policy/fit.h"

namespace hearth::policy {

// Everything a decision looks at. Borrowed for the call.
struct ResidencySnapshot {
  std::span<const Held> models;
  std::span<const Running> running = {};
  std::span<const Waiting> queue = {};  // without the request that is asked about
  Footprint capacity;                   // the budget
  Footprint free;
  double ageing = 0;
  std::size_t recent_swaps = 0;
};

struct ResidencyAsk {
  FitAsk fit;  // needed: bytes beyond those it holds, to reach `to`
  Rung to = Rung::serving;
  base::Mono asked = {};  // when the request came
  bool waited_for = true;
};

enum class ResidencyAction { serve, load, wait, refuse };
[[nodiscard]] std::string_view name_of(ResidencyAction action);

struct ResidencyDecision {
  ResidencyAction action = ResidencyAction::serve;
  EvictionPlan plan;  // load: carry out first
  FitVerdict fit;
  double ready_in_s = 0;  // expected, from the rung where it is; for a wait without the wait
  std::string reason;
};

[[nodiscard]] ResidencyDecision decide(EvictionPolicy policy, const ResidencySnapshot& snapshot,
                                       const ResidencyAsk& ask, const ResidencyConfig& config, base::Mono now);

}  // namespace hearth::policy
