#include "policy/residency.h"

#include <fmt/format.h>

namespace hearth::policy {
namespace {

const Held* find(std::span<const Held> models, const std::optional<domain::ModelId>& id) {
  const auto found = std::ranges::find_if(models, [&id](const Held& model) { return model.id == id; });
  return found == models.end() ? nullptr : &*found;
}

// Requests of a higher class that wait for a load go first; one that has starved no longer counts as what it was.
bool has_its_turn(const ResidencySnapshot& snapshot, const ResidencyAsk& ask, const ResidencyConfig& config,
                  base::Mono now) {
  const Waiting self{0, *ask.fit.newcomer.id, ask.fit.newcomer.service_class, ask.asked};
  return may_load(effective_class(self, config.admission, now), snapshot.queue, config.admission, now);
}

}  // namespace

std::string_view name_of(ResidencyAction action) {
  switch (action) {
    case ResidencyAction::serve:
      return "serve";
    case ResidencyAction::load:
      return "load";
    case ResidencyAction::wait:
      return "wait";
    case ResidencyAction::refuse:
      return "refuse";
  }
  return "refuse";
}

ResidencyDecision decide(EvictionPolicy policy, const ResidencySnapshot& snapshot, const ResidencyAsk& ask,
                         const ResidencyConfig& config, base::Mono now) {
  ResidencyDecision decision;
  const Held* model = find(snapshot.models, ask.fit.newcomer.id);
  if (model != nullptr && model->rung <= ask.to && !model->changing) {
    decision.reason = fmt::format("{} is {}", model->id.text(), name_of(model->rung));
    return decision;
  }
  if (model != nullptr) decision.ready_in_s = model->ladder.ready_s_at(model->rung);
  decision.fit =
      judge_fit(ask.fit, snapshot.models, snapshot.running, snapshot.capacity, snapshot.free, config.eviction, now);
  decision.reason = decision.fit.reason;
  decision.action = ResidencyAction::wait;
  if (decision.fit.outcome == FitOutcome::never) {
    decision.action = ResidencyAction::refuse;
    return decision;
  }
  if (model != nullptr && model->changing) {
    decision.reason = fmt::format("{} is already on its way", model->id.text());
    return decision;
  }
  if (!has_its_turn(snapshot, ask, config, now)) {
    decision.reason = "a request of a higher class waits for its load";
    return decision;
  }
  if (decision.fit.outcome == FitOutcome::after_waiting) return decision;
  decision.action = ResidencyAction::load;
  const Footprint lacking = ask.fit.needed.less(snapshot.free);
  if (lacking.empty() && policy != EvictionPolicy::count) return decision;
  const EvictionAsk wanted{ask.fit.newcomer, lacking, snapshot.ageing, snapshot.recent_swaps};
  decision.plan = plan_eviction(policy, snapshot.models, wanted, config.eviction, now);
  if (!decision.plan.enough) decision.action = ResidencyAction::wait;
  decision.reason = decision.plan.reason;
  return decision;
}

}  // namespace hearth::policy
