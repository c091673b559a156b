#include "policy/fit.h"

#include <fmt/format.h>

#include "base/text.h"

namespace hearth::policy {
namespace {

Footprint pinned_bytes(std::span<const Held> models, const Newcomer& newcomer) {
  Footprint sum;
  for (const Held& model : models) {
    if (model.pinned && model.id != newcomer.id) sum += model.ladder.bytes_at(model.rung);
  }
  return sum;
}

std::string pinned_names(std::span<const Held> models, const Newcomer& newcomer) {
  std::vector<std::string> names;
  for (const Held& model : models) {
    if (model.pinned && model.id != newcomer.id) names.push_back(model.id.text());
  }
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

FitVerdict refuse(const FitAsk& ask, std::span<const Held> models, const Footprint& capacity, const Footprint& most) {
  FitVerdict verdict{.outcome = FitOutcome::never, .needed = ask.needed + ask.holds, .available = most};
  verdict.pinned_conflict = verdict.needed.fits_in(capacity);
  verdict.largest_context = largest_context(ask, most);
  verdict.smaller_quantisations = smaller_that_fit(ask, most);
  verdict.reason = fmt::format("it needs {}, at most {} can be made available", format(verdict.needed), format(most));
  if (verdict.pinned_conflict) verdict.reason += " beside what is pinned: " + pinned_names(models, ask.newcomer);
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
  const Footprint most = capacity.less(pinned_bytes(models, ask.newcomer));
  if (!(ask.needed + ask.holds).fits_in(most)) return refuse(ask, models, capacity, most);
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
    if (why && model.id != ask.newcomer.id && !bytes.empty()) verdict.waits_for.push_back({model.id, *why, bytes});
  }
  const Footprint after = lacking.less(reclaimable(models, ask.newcomer, config, now));
  verdict.expected_wait = wait_for(verdict.waits_for, running, after, now);
  verdict.reason = fmt::format("{} are lacking, held by {}", format(lacking), who_has_it(verdict.waits_for));
  return verdict;
}

}  // namespace hearth::policy
