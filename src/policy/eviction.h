#pragma once
// Who gives memory back, and down to which rung. One pure function for every policy, so that the live server and a
// replay run the same code.
//
// Never a victim, under any policy: a model that a request uses, that is starting or stopping, that somebody waits for,
// that is pinned, or that is held for a class above the newcomer's. (Somebody who waits for an interactive answer may
// have what is held for voice hibernated, as far as voice's promise allows; never stopped. Background may not even
// that.) Hearth's own policy orders all demotions of all idle models by
//     H = L + w·p·ΔT / S
// p: probability of reuse within the horizon, and for what a stop costs more than hibernation, of reuse at all (nobody
// starts ahead of time what was stopped); ΔT: seconds that the next request waits longer; S: bytes freed where they
// lack; w: weight of the class; L: the ageing term (the H at which the last victim went when the model was last used;
// Cherkasova 1998, "GreedyDual-Size-Frequency"). The lowest go first, until enough is free; then those that turned out
// unnecessary are taken back.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "domain/model.h"
#include "domain/model_id.h"
#include "policy/footprint.h"
#include "policy/residency_config.h"
#include "policy/rung.h"

namespace hearth::policy {

enum class EvictionPolicy { lru, ttl, count, gdsf, hearth, offline };
inline constexpr std::array kAllEvictionPolicies = {EvictionPolicy::lru,    EvictionPolicy::ttl,
                                                    EvictionPolicy::count,  EvictionPolicy::gdsf,
                                                    EvictionPolicy::hearth, EvictionPolicy::offline};
[[nodiscard]] std::string_view name_of(EvictionPolicy policy);
[[nodiscard]] std::optional<EvictionPolicy> eviction_policy_named(std::string_view name);

// One model as it stands.
struct Held {
  domain::ModelId id;
  domain::ServiceClass service_class = domain::ServiceClass::interactive;
  Rung rung = Rung::cold;
  Ladder ladder;
  bool in_use = false;    // a request holds it, or was promised it
  bool changing = false;  // starting, stopping, or between two rungs
  bool pinned = false;
  // Until when it is held for its class: by keep-alive, schedule or a wish. Mono::max(): forever, or not before a
  // request ends; empty: not held.
  std::optional<base::Mono> kept_until = std::nullopt;
  bool kept_forever = false;  // by a wish, whatever runs at the moment
  // While it is held, not below this (its class was promised a bounded cold start, see promise_of); pressure may.
  Rung floor = Rung::cold;
  base::Mono since = {};      // on this rung
  base::Mono last_used = {};  // the end of its last request
  double uses = 0;            // decayed count (see Demand); GDSF's F
  double reuse = 0;           // probability of reuse within the horizon, 0…1
  double ageing = 0;          // L, as it was when this model was last used
  // Known only in a replay, for the offline policy: when it is used next.
  std::optional<base::Mono> next_use = std::nullopt;
};

// On whose behalf memory is wanted. Without a model: the machine's (pressure), which may take from every class.
struct Newcomer {
  std::optional<domain::ModelId> id = std::nullopt;
  domain::ServiceClass service_class = domain::ServiceClass::voice;
  bool waited_for = true;  // somebody waits; otherwise hysteresis and the swap limit apply
  double worth = 0;        // w·p·ΔT of what it gains, seconds; only read when nobody waits
};

struct EvictionAsk {
  Newcomer newcomer;
  Footprint lacking;
  double ageing = 0;             // the present L
  std::size_t recent_swaps = 0;  // voluntary ones, within the window
};

struct Demotion {
  domain::ModelId id;
  Rung from = Rung::cold;
  Rung to = Rung::cold;
  Footprint freed;
  double loss_s = 0;  // w·p·ΔT: seconds that this is expected to cost
  double score = 0;   // H, seconds per GiB
  std::string reason;
};

enum class Spared { in_use, changing, pinned, higher_class, too_young };
[[nodiscard]] std::string_view name_of(Spared spared);
struct SparedModel {
  domain::ModelId id;
  Spared why = Spared::in_use;
  Footprint bytes;                                 // what it could have given
  std::optional<base::Mono> until = std::nullopt;  // when that ends, where it is known
};

struct EvictionPlan {
  bool enough = false;
  std::vector<Demotion> demotions;  // in the order in which to carry them out; empty when not enough
  std::vector<SparedModel> spared;
  double ageing = 0;  // L from now on, if the plan is carried out
  double loss_s = 0;
  std::string reason;  // one clause: what is done, or why nothing can be
};

[[nodiscard]] EvictionPlan plan_eviction(EvictionPolicy policy, std::span<const Held> models, const EvictionAsk& ask,
                                         const EvictionConfig& config, base::Mono now);

// Why this model may not be demoted for that newcomer; empty when it may.
[[nodiscard]] std::optional<Spared> spared_from(const Held& model, const Newcomer& newcomer,
                                                const EvictionConfig& config, base::Mono now);
// When that ends, where time alone ends it.
[[nodiscard]] std::optional<base::Mono> spared_until(const Held& model, Spared why, const Newcomer& newcomer,
                                                     const EvictionConfig& config);
// What every idle, unprotected model could give together.
[[nodiscard]] Footprint reclaimable(std::span<const Held> models, const Newcomer& newcomer,
                                    const EvictionConfig& config, base::Mono now);

}  // namespace hearth::policy
