#include "keeper/expectations.h"

namespace hearth::keeper {

using domain::KeepSource;

namespace {

constexpr std::chrono::hours kHour{1};

// By the gaps between uses; without a plan, for every use moves them.
std::optional<Expectation> by_gaps(const policy::Demand& demand, const policy::DemandConfig& config, base::Mono now,
                                   base::Duration lead) {
  const auto window = demand.window(config);
  const auto& last = demand.last_end();
  if (!window.known || !last || *last + window.prewarm > now + lead || now >= *last + window.keep) return std::nullopt;
  return Expectation{.source = KeepSource::demand, .until = *last + window.keep, .why = "learnt"};
}

}  // namespace

std::string owner_of(KeepSource source) {
  if (source == KeepSource::config) return "max_cold_ttft";
  return source == KeepSource::schedule ? "schedule" : "expected demand";
}

std::optional<Expectation> Expectations::look(const domain::ModelId& id, domain::ServiceClass service_class,
                                              base::Duration lead, bool promised) {
  Watched& watched = watched_[id];
  const auto scheduled = look_at_schedules(id, service_class, lead, watched);
  const auto learnt = look_at_demand(id, lead, watched);
  const auto now = demands_.calendar().now().at;
  if (watched.told_to_go || now < watched.not_before) return std::nullopt;
  if (scheduled) return scheduled;
  if (!promised) return now < watched.learnt_not_before ? std::nullopt : learnt;
  return Expectation{.source = KeepSource::config,
                     .until = base::Mono::max(),
                     .why = "max_cold_ttft of class " + std::string(name_of(service_class))};
}

std::optional<Expectation> Expectations::look_at_schedules(const domain::ModelId& id,
                                                           domain::ServiceClass service_class, base::Duration lead,
                                                           Watched& watched) const {
  const auto time = policy::scheduled(schedules_, id, service_class, demands_.calendar().in(lead));
  if (time.active && !watched.scheduled) watched.told_to_go = false;
  watched.scheduled = time.active;
  if (!time.active) return std::nullopt;
  return Expectation{.source = KeepSource::schedule, .until = time.until, .why = time.text};
}

// The plan is kept until its instant has come: asked again in the minute before, the demand would name the next one.
std::optional<Expectation> Expectations::look_at_demand(const domain::ModelId& id, base::Duration lead,
                                                        Watched& watched) const {
  const auto* demand = demands_.find(id);
  if (demand == nullptr || !learn_) return std::nullopt;
  const auto now = demands_.calendar().now();
  if (auto expected = by_gaps(*demand, demands_.config(), now.at, lead)) return expected;
  if (watched.learnt && watched.learnt->until <= now.at) watched.learnt.reset();
  if (!watched.planned) watched.planned = demand->next_prewarm(now, demands_.config());
  if (!watched.planned || *watched.planned > now.at + lead) return watched.learnt;
  const base::Mono begins = *watched.planned;
  const auto window = demand->window(demands_.config());
  const bool is_gap = window.known && demand->last_end() && *demand->last_end() + window.prewarm == begins;
  // The next one is looked for behind this one.
  const auto behind = now.plus(std::max(base::Duration::zero(), begins - now.at) + std::chrono::minutes(1));
  watched.planned = demand->next_prewarm(behind, demands_.config());
  const base::Mono until = begins + kHour;
  if (!is_gap && until > now.at)
    watched.learnt = Expectation{.source = KeepSource::demand, .until = until, .why = "learnt"};
  return watched.learnt;
}

bool Expectations::may_prewarm(const domain::ModelId& id) const {
  const auto* demand = demands_.find(id);
  return demand != nullptr && demand->may_prewarm(demands_.config());
}

std::optional<Expectations::Settled> Expectations::used(const domain::ModelId& id) {
  const auto found = watched_.find(id);
  if (found == watched_.end()) return std::nullopt;
  Watched& watched = found->second;
  watched.told_to_go = false;
  watched.planned.reset();  // what was learnt has changed
  watched.not_before = watched.learnt_not_before = base::Mono::min();
  if (!watched.warmed) return std::nullopt;
  return settle(id, watched, Outcome::used);
}

void Expectations::warmed(const domain::ModelId& id, const Expectation& expectation) {
  Watched& watched = watched_[id];
  ++watched.counts.prewarms;
  watched.warmed = Warmed{.until = expectation.until, .source = expectation.source};
}

std::optional<Expectations::Settled> Expectations::waited(const domain::ModelId& id, bool there) {
  const auto found = watched_.find(id);
  if (found == watched_.end() || !found->second.warmed) return std::nullopt;
  if (there && demands_.calendar().now().at < found->second.warmed->until) return std::nullopt;
  return settle(id, found->second, Outcome::wasted);
}

void Expectations::count(Counts& counts, policy::Demand* demand, Outcome outcome) {
  const bool used = outcome == Outcome::used;
  ++(used ? counts.used : counts.wasted);
  if (demand == nullptr) return;
  if (used)
    demand->prewarm_hit();
  else
    demand->prewarm_wasted();
}

// A schedule is somebody's word: what became of it says nothing about what was learnt.
Expectations::Settled Expectations::settle(const domain::ModelId& id, Watched& watched, Outcome outcome) {
  auto* demand = watched.warmed->source == KeepSource::demand ? demands_.find(id) : nullptr;
  count(watched.counts, demand, outcome);
  if (outcome == Outcome::wasted) {
    if (watched.warmed->source == KeepSource::demand) watched.learnt_not_before = watched.warmed->until;
    watched.learnt.reset();
  }
  const Settled settled{.outcome = outcome, .source = watched.warmed->source};
  watched.warmed.reset();
  return settled;
}

bool Expectations::waits_for_use(const domain::ModelId& id) const {
  const auto found = watched_.find(id);
  return found != watched_.end() && found->second.warmed.has_value();
}

bool Expectations::counts(const domain::Event& event) { return event.what.starts_with("prewarm"); }

void Expectations::count_before(const domain::ModelId& id, const domain::Event& event) {
  Counts& counts = watched_[id].counts;
  auto* demand = event.by == owner_of(KeepSource::demand) ? demands_.find(id) : nullptr;
  if (event.what == "prewarm") ++counts.prewarms;
  if (event.what == "prewarm_used") count(counts, demand, Outcome::used);
  if (event.what == "prewarm_wasted") count(counts, demand, Outcome::wasted);
}

domain::ExpectedUse Expectations::describe(const domain::ModelId& id, domain::ServiceClass service_class,
                                           base::Duration horizon, base::Wall wall) const {
  const auto now = demands_.calendar().now();
  domain::ExpectedUse view{.reuse = demands_.reuse(id, horizon), .horizon_ms = base::to_ms(horizon)};
  std::optional<base::Mono> next;
  if (const auto* demand = demands_.find(id); demand != nullptr && learn_) {
    next = demand->next_prewarm(now, demands_.config());
    if (next) view.why = "learnt";
  }
  const auto time = policy::scheduled(schedules_, id, service_class, now);
  const auto scheduled = time.active ? std::optional(now.at) : time.next;
  if (scheduled && (!next || *scheduled <= *next)) {
    next = scheduled;
    view.why = time.text;
  }
  if (next) view.next = wall + std::chrono::duration_cast<base::Wall::duration>(*next - now.at);
  const auto found = watched_.find(id);
  if (found == watched_.end()) return view;
  view.prewarms = found->second.counts.prewarms;
  view.used = found->second.counts.used;
  view.wasted = found->second.counts.wasted;
  return view;
}

}  // namespace hearth::keeper
