#pragma once
// What to warm though nobody waits for it: because a schedule or learnt demand says that it will be asked for, or
// because it was pushed down and what pushed it is gone.
//
// A model is warmed when the seconds this is expected to save, w·p·ΔT, exceed what has to be demoted for it by the
// hysteresis, and when there is some chance that it is used at all. Bounded: wasted loads by Demand::may_prewarm,
// swaps by the limit of the eviction policy. A schedule is somebody's word: it needs no probability, but it too demotes
// nothing that is worth more.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/eviction.h"

namespace hearth::policy {

// What is known of one model besides how it is held.
struct Expected {
  bool scheduled = false;
  bool may_prewarm = true;  // its wasted loads are within bounds (Demand::may_prewarm); a wake is no load
  bool candidate = true;    // false: left as it is, whatever the rest says
};

struct Promotion {
  domain::ModelId id;
  Rung from = Rung::cold;
  Rung to = Rung::serving;
  double worth_s = 0;
  std::vector<Demotion> demotions;  // first
  std::string reason;
};

struct WarmingConfig {
  double least_reuse = 0.05;    // within the horizon
  double least_worth_s = 0.02;  // seconds
};

// `expected`: one for each of `models`. At most one promotion at a time: ask again when it is done.
[[nodiscard]] std::optional<Promotion> plan_warming(std::span<const Held> models, std::span<const Expected> expected,
                                                    const Footprint& free, std::size_t recent_swaps,
                                                    const EvictionConfig& config, const WarmingConfig& warming,
                                                    base::Mono now);

}  // namespace hearth::policy
