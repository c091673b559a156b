#include "keeper/demands.h"

namespace hearth::keeper {

void Demands::note(Step step) {
  count(step);
  if (meanwhile_) meanwhile_->push_back(std::move(step));
}

void Demands::count(const Step& step) {
  policy::Demand& demand = known_[step.id];
  if (step.began)
    demand.request_began(step.at, config_);
  else
    demand.request_ended(step.at);
}

// What became of pre-warms of this run is not lost: nothing was expected of so short a memory.
void Demands::learn(std::map<domain::ModelId, policy::Demand> past) {
  known_ = std::move(past);
  for (const Step& step : meanwhile_.value_or(std::vector<Step>{}))
    count(step);
  meanwhile_.reset();
}

void Demands::forget(const domain::ModelId& id) {
  known_.erase(id);
  if (meanwhile_) std::erase_if(*meanwhile_, [&](const Step& step) { return step.id == id; });
}

double Demands::reuse(const domain::ModelId& id, base::Duration horizon) const {
  const auto* demand = find(id);
  return demand == nullptr ? 0 : demand->reuse(calendar_.now(), horizon);
}

double Demands::uses(const domain::ModelId& id) const {
  const auto* demand = find(id);
  return demand == nullptr ? 0 : demand->uses(calendar_.now().at, config_.half_life);
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
