#include "keeper/demands.h"

#include <algorithm>
#include <vector>

namespace hearth::keeper {

policy::Moment Demands::moment_at(base::Wall wall) const {
  // 1970 began on a Thursday; the week that counts begins on a Monday.
  constexpr std::int64_t kThursday = 3 * 24 * 60;
  const base::Wall local = zone_ == nullptr ? wall : wall + zone_->offset_at(wall);
  const auto minutes = std::chrono::floor<std::chrono::minutes>(local.time_since_epoch()).count();
  const auto away = std::chrono::duration_cast<base::Duration>(wall - clock_.wall());
  return {.at = clock_.now() + away, .local_minute = minutes + kThursday};
}

void Demands::learn(const domain::ModelId& id, std::span<const Use> uses) {
  struct Step {
    base::Wall at;
    bool began;
  };
  std::vector<Step> steps;
  for (const Use& use : uses) {
    steps.push_back({use.began, true});
    steps.push_back({use.began + std::chrono::duration_cast<base::Wall::duration>(use.lasted), false});
  }
  // What begins where another ends is a use without a gap.
  std::ranges::stable_sort(steps, [](const Step& left, const Step& right) {
    return left.at != right.at ? left.at < right.at : left.began > right.began;
  });
  policy::Demand& demand = known_[id];
  for (const Step& step : steps) {
    if (step.began)
      demand.request_began(moment_at(step.at), config_);
    else
      demand.request_ended(moment_at(step.at));
  }
}

double Demands::reuse(const domain::ModelId& id, base::Duration horizon) const {
  const auto* demand = find(id);
  return demand == nullptr ? 0 : demand->reuse(moment(), horizon);
}

double Demands::uses(const domain::ModelId& id) const {
  const auto* demand = find(id);
  return demand == nullptr ? 0 : demand->uses(clock_.now(), config_.half_life);
}

policy::Demand* Demands::find(const domain::ModelId& id) {
  const auto found = known_.find(id);
  return found == known_.end() ? nullptr : &found->second;
}

const policy::Demand* Demands::find(const domain::ModelId& id) const {
  const auto found = known_.find(id);
  return found == known_.end() ? nullptr : &found->second;
}

}  // namespace hearth::keeper
