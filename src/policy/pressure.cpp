#include "policy/pressure.h"

#include <fmt/format.h>

#include "base/text.h"

namespace hearth::policy {
namespace {

// Share of what is held that goes at the first give-back under pressure; doubled for each one that did not help.
constexpr double kFirstShare = 0.125;

Footprint held_bytes(std::span<const Held> models) {
  Footprint sum;
  for (const Held& model : models)
    sum += model.ladder.bytes_at(model.rung);
  return sum;
}

bool above(const std::optional<double>& value, double limit) { return value && *value >= limit; }

base::Bytes short_of_reserve(const PressureReading& reading, base::Bytes reserve) {
  return reading.available && *reading.available < reserve ? reserve - *reading.available : 0;
}

// What is known of it says that the machine lacks memory.
PressureReading of_this_machine(PressureReading reading) {
  if (reading.reclaim_scans_per_s != 0.0) return reading;
  return {.available = reading.available, .reclaim_scans_per_s = reading.reclaim_scans_per_s};
}

PressureLevel level_of(const PressureReading& reading, base::Bytes reserve, const PressureConfig& config) {
  const base::Bytes lacking = short_of_reserve(reading, reserve);
  if (above(reading.psi_some_avg10, config.psi_some_critical) || lacking > reserve / 2) return PressureLevel::critical;
  const bool high = above(reading.psi_some_avg10, config.psi_some_high) ||
                    above(reading.swap_in_per_s, config.swap_in_per_s_high) ||
                    above(reading.refaults_per_s, config.refaults_per_s_high) || lacking > 0;
  return high ? PressureLevel::high : PressureLevel::calm;
}

std::string signals_of(const PressureReading& reading, base::Bytes reserve, const PressureConfig& config) {
  std::vector<std::string> clauses;
  if (const auto lacking = short_of_reserve(reading, reserve); lacking > 0)
    clauses.push_back(fmt::format("{} of the reserve are missing", base::format_bytes(lacking)));
  if (above(reading.psi_some_avg10, config.psi_some_high))
    clauses.push_back(fmt::format("somebody waited for memory in {:.0f} % of the last 10 s", *reading.psi_some_avg10));
  if (above(reading.swap_in_per_s, config.swap_in_per_s_high))
    clauses.push_back(fmt::format("{} a second come back from swap",
                                  base::format_bytes(static_cast<base::Bytes>(*reading.swap_in_per_s))));
  if (above(reading.refaults_per_s, config.refaults_per_s_high))
    clauses.push_back(fmt::format("{:.0f} pages a second are read again", *reading.refaults_per_s));
  return base::join(clauses, ", ");
}

Footprint amount(const PressureReading& reading, base::Bytes reserve, std::span<const Held> models,
                 std::size_t in_a_row) {
  const double share = std::min(1.0, kFirstShare * static_cast<double>(1U << std::min<std::size_t>(in_a_row, 3)));
  const auto part = static_cast<base::Bytes>(static_cast<double>(held_bytes(models).host()) * share);
  return Footprint::host(std::max(short_of_reserve(reading, reserve), part));
}

// The plan for as much as there is, where all of it is not to be had.
EvictionPlan plan_for(const Footprint& wanted, std::span<const Held> models, const EvictionConfig& config,
                      base::Mono now) {
  const Footprint most = reclaimable(models, Newcomer{}, config, now);
  const EvictionAsk ask{Newcomer{}, wanted.at_most(most)};
  return plan_eviction(EvictionPolicy::hearth, models, ask, config, now);
}

struct Contender {
  const Held* model;
  double worth;
};

bool costs_much(std::span<const Reload> reloads, const PressureConfig& config, base::Mono now) {
  std::size_t count = 0;
  double seconds = 0;
  for (const Reload& reload : reloads) {
    if (now - reload.at > config.thrash_window) continue;
    ++count;
    seconds += reload.seconds;
  }
  return count >= config.thrash_reloads && seconds * 1000 >= config.thrash_share * base::to_ms(config.thrash_window);
}

std::vector<Contender> contenders_of(std::span<const Reload> reloads, std::span<const Held> models,
                                     const PressureConfig& config, const base::Mono now) {
  std::vector<Contender> contenders;
  for (const Held& model : models) {
    const auto times = std::ranges::count_if(reloads, [&](const Reload& reload) {
      return reload.id == model.id && now - reload.at <= config.thrash_window;
    });
    if (times < 2) continue;
    const double saved = model.ladder.ready_s_at(Rung::cold) - model.ladder.ready_s_at(Rung::serving);
    contenders.push_back({&model, static_cast<double>(times) * saved});
  }
  // A higher class first, then what saves most for its bytes.
  std::ranges::sort(contenders, [](const Contender& left, const Contender& right) {
    if (left.model->service_class != right.model->service_class)
      return left.model->service_class < right.model->service_class;
    const auto density = [](const Contender& one) {
      return one.worth /
             static_cast<double>(std::max<base::Bytes>(one.model->ladder.bytes_at(Rung::serving).total(), 1));
    };
    return density(left) > density(right);
  });
  return contenders;
}

}  // namespace

std::string_view name_of(PressureLevel level) {
  switch (level) {
    case PressureLevel::calm:
      return "calm";
    case PressureLevel::high:
      return "high";
    case PressureLevel::critical:
      return "critical";
  }
  return "calm";
}

PressureDecision judge_pressure(const PressureReading& seen, base::Bytes reserve, std::span<const Held> models,
                                PressureMemory& memory, const PressureConfig& config, const EvictionConfig& eviction,
                                base::Mono now) {
  const PressureReading reading = of_this_machine(seen);
  PressureDecision decision{.level = level_of(reading, reserve, config)};
  if (decision.level == PressureLevel::calm) {
    decision.may_grow = !memory.last_high || now - *memory.last_high >= config.calm_before_growth;
    if (decision.may_grow) memory.in_a_row = 0;
    decision.reason = decision.may_grow ? "no pressure" : "pressure has only just ended";
    return decision;
  }
  memory.last_high = now;
  decision.may_grow = false;
  decision.reason = signals_of(reading, reserve, config);
  // What was given back last needs a moment to show.
  if (memory.gave_back && now - *memory.gave_back < config.settle) {
    decision.reason += "; waiting for the last give-back to show";
    return decision;
  }
  const std::size_t urgency = memory.in_a_row + (decision.level == PressureLevel::critical ? 1 : 0);
  decision.plan = plan_for(amount(reading, reserve, models, urgency), models, eviction, now);
  for (const Demotion& demotion : decision.plan.demotions)
    decision.give_back += demotion.freed;
  if (decision.plan.demotions.empty()) {
    decision.reason += "; nothing idle is left to give back";
    return decision;
  }
  memory.gave_back = now;
  ++memory.in_a_row;
  return decision;
}

std::optional<Thrashing> find_thrashing(std::span<const Reload> reloads, std::span<const Held> models,
                                        const Footprint& capacity, const PressureConfig& config, base::Mono now) {
  if (!costs_much(reloads, config, now)) return std::nullopt;
  const auto contenders = contenders_of(reloads, models, config, now);
  Thrashing thrashing{.available = capacity};
  Footprint kept;
  std::vector<std::string> names;
  for (const Contender& one : contenders) {
    const Footprint bytes = one.model->ladder.bytes_at(Rung::serving);
    thrashing.models.push_back(one.model->id);
    thrashing.needed += bytes;
    if (!(kept + bytes).fits_in(capacity)) continue;
    kept += bytes;
    thrashing.keep.push_back(one.model->id);
    names.push_back(one.model->id.text());
  }
  if (contenders.size() < 2 || thrashing.needed.fits_in(capacity)) return std::nullopt;
  thrashing.sentence =
      fmt::format("thrashing: these {} models need {}, {} are there; keep {} ({})", thrashing.models.size(),
                  format(thrashing.needed), format(capacity), thrashing.keep.size(), base::join(names, ", "));
  return thrashing;
}

base::Duration thrashing_turn(double load_s, const PressureConfig& config) {
  const std::chrono::duration<double> turn(config.turn_per_load * std::max(load_s, 0.0));
  return turn < config.longest_turn ? std::chrono::duration_cast<base::Duration>(turn) : config.longest_turn;
}

}  // namespace hearth::policy
