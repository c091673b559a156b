#include "policy/eviction.h"

#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "domain/named.h"

namespace hearth::policy {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

double seconds(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }
double seconds(base::Mono instant) { return seconds(instant.time_since_epoch()); }

bool is_held(const Held& model, base::Mono now) { return model.kept_until && *model.kept_until > now; }

// The coldest rung to which it may go for that newcomer. A lower class leaves at least the process of what is held.
Rung floor_of(const Held& model, const Newcomer& newcomer, const EvictionConfig& config, base::Mono now) {
  if (!newcomer.id || !is_held(model, now)) return Rung::cold;
  const bool outranks = config.protect_classes && model.service_class < newcomer.service_class;
  return outranks ? std::min(model.floor, Rung::hibernated) : model.floor;
}

// Those to which it may go, warmest first.
std::span<const RungCost> ways_down(const Held& model, Rung from, const Newcomer& newcomer,
                                    const EvictionConfig& config, base::Mono now) {
  const auto below = model.ladder.below(from);
  const Rung floor = floor_of(model, newcomer, config, now);
  const auto end = std::ranges::find_if(below, [floor](const RungCost& rung) { return rung.rung > floor; });
  return {below.begin(), end};
}

// How much of what lacks this move gives.
base::Bytes useful(const RungCost& from, const RungCost& to, const Footprint& lacking) {
  return from.bytes.less(to.bytes).at_most(lacking).total();
}

// Lowest first: a policy may order by rung before anything else.
struct Score {
  int tier = 0;
  double value = 0;
  double loss_s = 0;
};

struct Step {
  std::size_t model = 0;
  RungCost from;
  RungCost to;
  Score score;
};

// What a policy thinks of moving a model from one rung to a colder one that frees `bytes`.
using Judge = Score (*)(const Held&, const RungCost& from, const RungCost& to, base::Bytes bytes,
                        const EvictionConfig& config, base::Mono now);

double weight_of(const Held& model, const EvictionConfig& config) {
  return config.class_weight[index_of(model.service_class)];
}

Score judge_lru(const Held& model, const RungCost&, const RungCost& to, base::Bytes, const EvictionConfig&,
                base::Mono) {
  return {static_cast<int>(to.rung), seconds(model.last_used)};
}

Score judge_ttl(const Held& model, const RungCost&, const RungCost& to, base::Bytes, const EvictionConfig&,
                base::Mono now) {
  return {static_cast<int>(to.rung), seconds(model.kept_until.value_or(now))};
}

Score judge_gdsf(const Held& model, const RungCost& from, const RungCost& to, base::Bytes bytes, const EvictionConfig&,
                 base::Mono) {
  const double loss = model.uses * (to.ready_s - from.ready_s);
  return {0, model.ageing + loss / (static_cast<double>(bytes) / kGiB), loss};
}

// What is hibernated can be woken ahead of time: only a use within the horizon makes it wait. What is stopped stays so
// until somebody asks, whenever that is.
double seconds_lost(const Held& model, const RungCost& from, const RungCost& to) {
  const double asleep = std::clamp(model.ladder.ready_s_at(Rung::hibernated), from.ready_s, to.ready_s);
  return model.reuse * (asleep - from.ready_s) +
         std::max(model.reuse, std::min(1.0, model.uses)) * (to.ready_s - asleep);
}

Score judge_hearth(const Held& model, const RungCost& from, const RungCost& to, base::Bytes bytes,
                   const EvictionConfig& config, base::Mono) {
  const double loss = weight_of(model, config) * seconds_lost(model, from, to);
  return {0, model.ageing + loss / (static_cast<double>(bytes) / kGiB), loss};
}

// Belady's rule with cost and size: seconds lost, per byte and second for which the byte is free.
Score judge_offline(const Held& model, const RungCost& from, const RungCost& to, base::Bytes bytes,
                    const EvictionConfig&, base::Mono now) {
  if (!model.next_use) return {0, 0, 0};
  const double until = std::max(seconds(*model.next_use - now), 1e-3);
  const double loss = to.ready_s - from.ready_s;
  return {0, loss / (static_cast<double>(bytes) / kGiB) / until, loss};
}

Judge judge_of(EvictionPolicy policy) {
  switch (policy) {
    case EvictionPolicy::lru:
    case EvictionPolicy::count:
      return judge_lru;
    case EvictionPolicy::ttl:
      return judge_ttl;
    case EvictionPolicy::gdsf:
      return judge_gdsf;
    case EvictionPolicy::hearth:
      return judge_hearth;
    case EvictionPolicy::offline:
      return judge_offline;
  }
  return judge_lru;
}

// Takes the cheapest step again and again until nothing lacks.
class Search {
 public:
  Search(EvictionPolicy policy, std::span<const Held> models, const EvictionAsk& ask, const EvictionConfig& config,
         base::Mono now)
      : policy_(policy), models_(models), ask_(ask), config_(config), now_(now), judge_(judge_of(policy)) {}

  EvictionPlan plan() {
    sort_out();
    left_ = ask_.lacking;
    std::size_t over = policy_ == EvictionPolicy::count ? too_many() : 0;
    while (!left_.empty() || over > 0) {
      const auto step = over > 0 ? oldest_process() : cheapest();
      if (!step) break;
      if (over > 0) --over;
      take(*step);
    }
    if (left_.empty() && weighs()) improve();
    return finish(left_.empty() && over == 0);
  }

 private:
  // Hearth's policy and the offline one weigh losses, so that taking back what was not needed makes sense to them.
  [[nodiscard]] bool weighs() const { return policy_ == EvictionPolicy::hearth || policy_ == EvictionPolicy::offline; }

  void sort_out() {
    for (std::size_t index = 0; index < models_.size(); ++index) {
      const Held& model = models_[index];
      if (model.id == ask_.newcomer.id || model.rung == Rung::cold) continue;
      if (const auto why = spared_from(model, ask_.newcomer, config_, now_)) {
        plan_.spared.push_back(
            {model.id, *why, model.ladder.bytes_at(model.rung), spared_until(model, *why, ask_.newcomer, config_)});
        continue;
      }
      if (const auto* from = model.ladder.find(model.rung)) idle_.push_back({index, *from});
    }
  }

  [[nodiscard]] std::size_t too_many() const {
    const auto loaded = static_cast<std::size_t>(std::ranges::count_if(
        models_, [this](const Held& model) { return model.rung <= Rung::hibernated && model.id != ask_.newcomer.id; }));
    return loaded < config_.most_models ? 0 : loaded + 1 - config_.most_models;
  }

  std::optional<Step> oldest_process() {
    std::optional<Step> best;
    for (std::size_t at = 0; at < idle_.size(); ++at) {
      const auto& [index, from] = idle_[at];
      if (from.rung > Rung::hibernated) continue;
      const auto below = models_[index].ladder.below(Rung::hibernated);
      const Step step{at, from, below.front(), {0, seconds(models_[index].last_used)}};
      if (!best || step.score.value < best->score.value) best = step;
    }
    return best;
  }

  std::optional<Step> cheapest() {
    std::optional<Step> best;
    for (std::size_t at = 0; at < idle_.size(); ++at) {
      const auto& [index, from] = idle_[at];
      for (const RungCost& to : ways_down(models_[index], from.rung, ask_.newcomer, config_, now_)) {
        const base::Bytes bytes = useful(from, to, left_);
        if (bytes == 0) continue;
        const Step step{at, from, to, judge_(models_[index], from, to, bytes, config_, now_)};
        if (!best || before(step, *best)) best = step;
      }
    }
    return best;
  }

  [[nodiscard]] bool before(const Step& left, const Step& right) const {
    return std::tie(left.score.tier, left.score.value) < std::tie(right.score.tier, right.score.value);
  }

  void take(const Step& step) {
    auto& place = idle_[step.model];
    left_ = left_.less(place.from.bytes.less(step.to.bytes));
    place.from = step.to;
    steps_.push_back(step);
    plan_.ageing = std::max(plan_.ageing, step.score.value);
  }

  struct Place {
    std::size_t index = 0;  // in models_
    RungCost from;          // where it would be by now
  };

  [[nodiscard]] const RungCost& start_of(const Place& place) const {
    return *models_[place.index].ladder.find(models_[place.index].rung);
  }
  [[nodiscard]] Footprint given() const {
    Footprint sum;
    for (const Place& place : idle_)
      sum += start_of(place).bytes.less(place.from.bytes);
    return sum;
  }
  [[nodiscard]] double loss_at(const Place& place, const RungCost& rung) const {
    const auto& start = start_of(place);
    if (rung.rung == start.rung) return 0;
    const base::Bytes bytes = std::max<base::Bytes>(useful(start, rung, ask_.lacking), 1);
    return judge_(models_[place.index], start, rung, bytes, config_, now_).loss_s;
  }
  [[nodiscard]] double loss() const {
    double sum = 0;
    for (const Place& place : idle_)
      sum += loss_at(place, place.from);
    return sum;
  }

  // Back up whatever the later steps made unnecessary, the dearest first; then see whether one demotion alone would
  // have been cheaper than all of them.
  void improve() {
    while (raise_one()) {
    }
    const double all = loss();
    std::optional<std::pair<std::size_t, RungCost>> alone;
    double least = all;
    for (std::size_t at = 0; at < idle_.size(); ++at) {
      const auto& start = start_of(idle_[at]);
      for (const RungCost& to : ways_down(models_[idle_[at].index], start.rung, ask_.newcomer, config_, now_)) {
        const double loss_s = loss_at(idle_[at], to);
        if (loss_s >= least || !ask_.lacking.fits_in(start.bytes.less(to.bytes))) continue;
        least = loss_s;
        alone = {at, to};
      }
    }
    if (!alone) return;
    for (Place& place : idle_)
      place.from = start_of(place);
    idle_[alone->first].from = alone->second;
  }

  bool raise_one() {
    Place* best = nullptr;
    RungCost best_rung;
    double best_gain = 0;
    const Footprint all = given();
    for (Place& place : idle_) {
      const auto& start = start_of(place);
      for (const RungCost& rung : models_[place.index].ladder.rungs()) {
        if (rung.rung < start.rung || rung.rung >= place.from.rung) continue;
        const Footprint without = all.less(rung.bytes.less(place.from.bytes));
        const double gain = loss_at(place, place.from) - loss_at(place, rung);
        if (!ask_.lacking.fits_in(without) || gain < best_gain) continue;
        if (best != nullptr && gain <= best_gain) continue;
        best = &place;
        best_rung = rung;
        best_gain = gain;
      }
    }
    if (best == nullptr) return false;
    best->from = best_rung;
    return true;
  }

  void describe(const Place& place) {
    const Held& model = models_[place.index];
    const RungCost& start = start_of(place);
    if (place.from.rung == start.rung) return;
    const Footprint freed = start.bytes.less(place.from.bytes);
    const base::Bytes bytes = std::max<base::Bytes>(useful(start, place.from, ask_.lacking), 1);
    const Score score = judge_(model, start, place.from, bytes, config_, now_);
    Demotion demotion{model.id, start.rung, place.from.rung, freed, score.loss_s, score.value, {}};
    demotion.reason = fmt::format("{} {} for {}: frees {}, costs its next request {:.2f} s", demotion_to(demotion.to),
                                  model.id.text(), ask_.newcomer.id ? ask_.newcomer.id->text() : "memory pressure",
                                  format(freed), place.from.ready_s - start.ready_s);
    if (policy_ == EvictionPolicy::hearth)
      demotion.reason +=
          fmt::format(", {:.0f} % likely within {:.0f} min", model.reuse * 100, seconds(config_.horizon) / 60);
    plan_.loss_s += score.loss_s;
    plan_.demotions.push_back(std::move(demotion));
  }

  EvictionPlan finish(bool enough) {
    plan_.enough = enough;
    plan_.ageing = std::max(plan_.ageing, ask_.ageing);
    if (!enough) {
      plan_.ageing = ask_.ageing;
      plan_.reason = fmt::format("{} are still lacking when everything idle is gone", format(left_));
      return std::move(plan_);
    }
    for (const Place& place : idle_)
      describe(place);
    std::ranges::sort(plan_.demotions, {}, &Demotion::score);
    plan_.reason = fmt::format("{} demotion{}", plan_.demotions.size(), plan_.demotions.size() == 1 ? "" : "s");
    judge_worth();
    return std::move(plan_);
  }

  // What nobody waits for has to be worth it, and must not come too often.
  void judge_worth() {
    if (ask_.newcomer.waited_for || plan_.demotions.empty()) return;
    if (ask_.recent_swaps >= config_.most_swaps) {
      plan_.reason =
          fmt::format("{} swaps in {:.0f} min are enough", ask_.recent_swaps, seconds(config_.swap_window) / 60);
    } else if (ask_.newcomer.worth < plan_.loss_s * config_.hysteresis) {
      plan_.reason = fmt::format("it would gain {:.3f} s and cost {:.3f} s", ask_.newcomer.worth, plan_.loss_s);
    } else {
      return;
    }
    plan_.enough = false;
    plan_.demotions.clear();
    plan_.ageing = ask_.ageing;
  }

  EvictionPolicy policy_;
  std::span<const Held> models_;
  const EvictionAsk& ask_;
  const EvictionConfig& config_;
  base::Mono now_;
  Judge judge_;
  std::vector<Place> idle_;
  std::vector<Step> steps_;
  Footprint left_;
  EvictionPlan plan_;
};

// Nobody waits: as configured. Somebody does: no longer than a load takes, or waiting would cost more than it saves.
base::Duration least_residency(const Held& model, const Newcomer& newcomer, const EvictionConfig& config) {
  if (!newcomer.waited_for) return config.least_residency;
  const auto load =
      std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(model.ladder.ready_s_at(Rung::cold)));
  return std::min(config.least_residency, load);
}

}  // namespace

std::string_view name_of(EvictionPolicy policy) {
  switch (policy) {
    case EvictionPolicy::lru:
      return "lru";
    case EvictionPolicy::ttl:
      return "ttl";
    case EvictionPolicy::count:
      return "count";
    case EvictionPolicy::gdsf:
      return "gdsf";
    case EvictionPolicy::hearth:
      return "hearth";
    case EvictionPolicy::offline:
      return "offline";
  }
  return "lru";
}

std::optional<EvictionPolicy> eviction_policy_named(std::string_view name) {
  return domain::find_named(kAllEvictionPolicies, name);
}

std::string_view name_of(Spared spared) {
  switch (spared) {
    case Spared::in_use:
      return "in use";
    case Spared::changing:
      return "changing";
    case Spared::pinned:
      return "pinned";
    case Spared::higher_class:
      return "held for a higher class";
    case Spared::too_young:
      return "just loaded";
  }
  return "in use";
}

std::optional<Spared> spared_from(const Held& model, const Newcomer& newcomer, const EvictionConfig& config,
                                  base::Mono now) {
  if (model.in_use) return Spared::in_use;
  if (model.changing) return Spared::changing;
  if (model.pinned) return Spared::pinned;
  if (!newcomer.id) return std::nullopt;
  const bool outranks = config.protect_classes && model.service_class < newcomer.service_class;
  if (outranks && is_held(model, now)) {
    const bool background = newcomer.service_class == domain::ServiceClass::background;
    if (background || !newcomer.waited_for) return Spared::higher_class;
    if (ways_down(model, model.rung, newcomer, config, now).empty()) return Spared::higher_class;
  }
  const bool outranked = config.protect_classes && newcomer.service_class < model.service_class;
  if (!outranked && now - model.since < least_residency(model, newcomer, config)) return Spared::too_young;
  return std::nullopt;
}

std::optional<base::Mono> spared_until(const Held& model, Spared why, const Newcomer& newcomer,
                                       const EvictionConfig& config) {
  switch (why) {
    case Spared::higher_class:
      return model.kept_until;
    case Spared::too_young:
      return model.since + least_residency(model, newcomer, config);
    case Spared::in_use:
    case Spared::changing:
    case Spared::pinned:
      break;
  }
  return std::nullopt;
}

Footprint reclaimable(std::span<const Held> models, const Newcomer& newcomer, const EvictionConfig& config,
                      base::Mono now) {
  Footprint sum;
  for (const Held& model : models) {
    if (model.id == newcomer.id || spared_from(model, newcomer, config, now)) continue;
    const auto below = ways_down(model, model.rung, newcomer, config, now);
    if (!below.empty()) sum += model.ladder.bytes_at(model.rung).less(below.back().bytes);
  }
  return sum;
}

EvictionPlan plan_eviction(EvictionPolicy policy, std::span<const Held> models, const EvictionAsk& ask,
                           const EvictionConfig& config, base::Mono now) {
  return Search(policy, models, ask, config, now).plan();
}

}  // namespace hearth::policy
