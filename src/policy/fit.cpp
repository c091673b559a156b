#include "policy/fit.h"

#include <fmt/format.h>

#include "base/text.h"

namespace hearth::policy {
namespace {

// What this model keeps whatever the newcomer waits for: because it is pinned, or held for ever for a higher class.
Footprint kept_for_good(const Held& model, const Newcomer& newcomer, const EvictionConfig& config, base::Mono now) {
  if (model.id == newcomer.id) return {};
  if (model.pinned) return model.ladder.bytes_at(model.rung);
  if (!model.kept_forever) return {};
  Held idle = model;
  idle.in_use = idle.changing = false;
  const bool spared = spared_from(idle, newcomer, config, now) == Spared::higher_class;
  return spared ? model.ladder.bytes_at(model.rung) : Footprint{};
}

struct KeptForGood {
  Footprint bytes;
  std::vector<const Held*> models;
};
KeptForGood kept_for_good(std::span<const Held> models, const Newcomer& newcomer, const EvictionConfig& config,
                          base::Mono now) {
  KeptForGood kept;
  for (const Held& model : models) {
    const Footprint bytes = kept_for_good(model, newcomer, config, now);
    if (bytes.empty()) continue;
    kept.bytes += bytes;
    kept.models.push_back(&model);
  }
  return kept;
}

std::string names_of(const KeptForGood& kept) {
  std::vector<std::string> names;
  for (const Held* model : kept.models)
    names.push_back(fmt::format("{} ({})", model->id.text(), model->pinned ? "pinned" : "held for a higher class"));
  return base::join(names, ", ");
}

std::optional<std::uint64_t> largest_context(const FitAsk& ask, const Footprint& most) {
  if (!ask.kv_bytes_per_token || *ask.kv_bytes_per_token <= 0 || ask.context == 0) return std::nullopt;
  const double kv = *ask.kv_bytes_per_token * static_cast<double>(ask.context);
  Footprint whole = ask.needed + ask.holds;
  const auto kv_bytes = std::min(static_cast<base::Bytes>(kv), whole.at[ask.kv_place]);
  whole.at[ask.kv_place] -= kv_bytes;
  if (!whole.fits_in(most)) return std::nullopt;
  const auto room = static_cast<double>(most.at[ask.kv_place] - whole.at[ask.kv_place]);
  constexpr std::uint64_t kStep = 256;
  const auto tokens = static_cast<std::uint64_t>(room / *ask.kv_bytes_per_token) / kStep * kStep;
  return tokens == 0 ? std::nullopt : std::optional(std::min(tokens, ask.context));
}

std::vector<std::string> smaller_that_fit(const FitAsk& ask, const Footprint& most) {
  std::vector<Quantisation> fitting;
  std::ranges::copy_if(ask.quantisations, std::back_inserter(fitting),
                       [&most](const Quantisation& one) { return one.needed.fits_in(most); });
  std::ranges::sort(fitting, std::ranges::greater(), [](const Quantisation& one) { return one.needed.total(); });
  std::vector<std::string> names;
  std::ranges::transform(fitting, std::back_inserter(names), &Quantisation::name);
  return names;
}

FitVerdict refuse(const FitAsk& ask, const KeptForGood& kept, const Footprint& capacity) {
  const Footprint most = capacity.less(kept.bytes);
  FitVerdict verdict{.outcome = FitOutcome::never, .needed = ask.needed + ask.holds, .available = most};
  const bool fits_alone = verdict.needed.fits_in(capacity);
  const bool pins = std::ranges::any_of(kept.models, &Held::pinned);
  verdict.pinned_conflict = fits_alone && pins;
  if (fits_alone && !pins) {
    std::ranges::transform(kept.models, std::back_inserter(verdict.kept_forever), &Held::id);
  }
  verdict.largest_context = largest_context(ask, most);
  verdict.smaller_quantisations = smaller_that_fit(ask, most);
  verdict.reason = fmt::format("it needs {}, at most {} can be made available", format(verdict.needed), format(most));
  if (fits_alone) verdict.reason += " beside " + names_of(kept);
  if (verdict.largest_context)
    verdict.reason += fmt::format("; a context of {} tokens would fit", *verdict.largest_context);
  if (!verdict.smaller_quantisations.empty())
    verdict.reason += "; smaller: " + base::join(verdict.smaller_quantisations, ", ");
  return verdict;
}

// When enough of what is spared has ended; empty where that is not known of all that is needed.
std::optional<base::Duration> wait_for(std::vector<SparedModel> spared, std::span<const Running> running,
                                       const Footprint& lacking, base::Mono now) {
  for (SparedModel& one : spared) {
    const auto runs = std::ranges::find(running, one.id, &Running::id);
    if (runs != running.end() && one.why == Spared::in_use) one.until = runs->expected_end;
  }
  std::erase_if(spared, [](const SparedModel& one) { return !one.until || *one.until == base::Mono::max(); });
  std::ranges::sort(spared, {}, [](const SparedModel& one) { return *one.until; });
  Footprint left = lacking;
  for (const SparedModel& one : spared) {
    left = left.less(one.bytes);
    if (left.empty()) return std::max(base::Duration::zero(), *one.until - now);
  }
  return std::nullopt;
}

std::string who_has_it(const std::vector<SparedModel>& spared) {
  std::vector<std::string> clauses;
  for (const SparedModel& one : spared)
    clauses.push_back(fmt::format("{} ({}, {})", one.id.text(), name_of(one.why), format(one.bytes)));
  return clauses.empty() ? "memory that is not ours" : base::join(clauses, ", ");
}

}  // namespace

std::string_view name_of(FitOutcome outcome) {
  switch (outcome) {
    case FitOutcome::now:
      return "now";
    case FitOutcome::after_eviction:
      return "after_eviction";
    case FitOutcome::after_waiting:
      return "after_waiting";
    case FitOutcome::never:
      return "never";
  }
  return "never";
}

FitVerdict judge_fit(const FitAsk& ask, std::span<const Held> models, std::span<const Running> running,
                     const Footprint& capacity, const Footprint& free, const EvictionConfig& config, base::Mono now) {
  const KeptForGood kept = kept_for_good(models, ask.newcomer, config, now);
  if (!(ask.needed + ask.holds).fits_in(capacity.less(kept.bytes))) return refuse(ask, kept, capacity);
  FitVerdict verdict{.needed = ask.needed, .available = free};
  if (ask.needed.fits_in(free)) {
    verdict.reason = fmt::format("{} are free", format(free));
    return verdict;
  }
  const Footprint lacking = ask.needed.less(free);
  if (lacking.fits_in(reclaimable(models, ask.newcomer, config, now))) {
    verdict.outcome = FitOutcome::after_eviction;
    verdict.reason = fmt::format("{} are lacking, idle models can give them", format(lacking));
    return verdict;
  }
  verdict.outcome = FitOutcome::after_waiting;
  for (const Held& model : models) {
    const auto why = spared_from(model, ask.newcomer, config, now);
    const Footprint bytes = model.ladder.bytes_at(model.rung);
    if (why && model.id != ask.newcomer.id && !bytes.empty())
      verdict.waits_for.push_back({model.id, *why, bytes, spared_until(model, *why, ask.newcomer, config)});
  }
  const Footprint after = lacking.less(reclaimable(models, ask.newcomer, config, now));
  verdict.expected_wait = wait_for(verdict.waits_for, running, after, now);
  verdict.reason = fmt::format("{} are lacking, held by {}", format(lacking), who_has_it(verdict.waits_for));
  return verdict;
}

}  // namespace hearth::policy
