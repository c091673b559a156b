#pragma once
// The rungs of one model with what each costs, from what is known of it. Pure.
//
// Serving and cold are always there. Hibernated is only there when the engine that runs can let its weights go (the
// tier library with that power; Room forgets the rung for an engine that refused). Shrunk and pages are never there:
// nothing gives them yet.
//
// Seconds that were not measured are estimated from the bytes: a start 0.5 s and 1 GB a second, a wake 50 ms and 2 GB a
// second.
#include <optional>

#include "policy/ledger.h"
#include "policy/rung.h"

namespace hearth::keeper {

struct LadderFacts {
  policy::Claim serving;                         // what it takes, or is expected to, when it serves
  std::optional<policy::Claim> hibernated;       // empty: it cannot hibernate
  std::optional<double> start_s = std::nullopt;  // measured, from nothing
  std::optional<double> wake_s = std::nullopt;   // measured, from hibernated
};

// What stays of `serving` when the weights have left; `left`: weight bytes that stayed nevertheless.
[[nodiscard]] policy::Claim hibernated_claim(const policy::Claim& serving, base::Bytes left = 0);

[[nodiscard]] policy::Ladder ladder_of(const LadderFacts& facts);

}  // namespace hearth::keeper
