#include "keeper/ladder_of.h"

namespace hearth::keeper {

using policy::Charge;
using policy::Footprint;
using policy::Rung;

namespace {

constexpr double kStartSeconds = 0.5;
constexpr double kStartBytesPerSecond = 1e9;
constexpr double kWakeSeconds = 0.05;
constexpr double kWakeBytesPerSecond = 2e9;

double seconds_for(double fixed, double rate, const Footprint& bytes) {
  return fixed + static_cast<double>(bytes.total()) / rate;
}

}  // namespace

policy::Claim hibernated_claim(const policy::Claim& serving, base::Bytes left) {
  policy::Claim claim = serving;
  claim[Charge::weights] = Footprint::host(left).at_most(serving[Charge::weights]);
  claim[Charge::locked] = {};
  return claim;
}

policy::Ladder ladder_of(const LadderFacts& facts) {
  policy::Ladder ladder;
  const Footprint& weights = facts.serving[Charge::weights];
  ladder.add({Rung::serving, facts.serving.total(), 0});
  if (facts.hibernated) {
    const double wake = facts.wake_s.value_or(seconds_for(kWakeSeconds, kWakeBytesPerSecond, weights));
    ladder.add({Rung::hibernated, facts.hibernated->total(), wake});
  }
  ladder.add({Rung::cold, {}, facts.start_s.value_or(seconds_for(kStartSeconds, kStartBytesPerSecond, weights))});
  return ladder;
}

}  // namespace hearth::keeper
