#include "lab/replay.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>

#include "policy/demand.h"
#include "policy/residency.h"

namespace hearth::lab {
namespace {

using domain::ServiceClass;
using policy::EvictionPolicy;
using policy::Footprint;
using policy::Held;
using policy::Rung;

base::Mono instant(std::int64_t ns) { return base::Mono(std::chrono::nanoseconds(ns)); }
double seconds(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }
base::Duration of_seconds(double value) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::llround(value * 1e9)));
}

struct Pending {
  base::Mono since;
  std::uint32_t request = 0;
};

// One model as the replay knows it, beside its Held.
struct Model {
  policy::Demand demand;
  std::vector<Pending> pending;  // requests that wait for it
  std::size_t running = 0;
  base::Mono began = {};         // the load under way
  base::Mono expected_end = {};  // of what runs
  std::uint64_t generation = 0;  // of timers that no longer hold
  bool prewarmed = false;        // and not used since
  bool prewarm_learnt = false;   // by what was learnt, not by a schedule
  base::Mono prewarm_ends = {};  // when it counts as wasted
  std::size_t next_index = 0;    // into its own uses, for the offline policy
  std::vector<std::int64_t> uses;
};

enum class Kind { finished, ready, unload, look };
struct Event {
  base::Mono at;
  std::uint64_t order = 0;
  Kind kind = Kind::look;
  std::uint32_t model = 0;
  std::uint64_t generation = 0;

  friend bool operator>(const Event& left, const Event& right) {
    return std::tie(left.at, left.order) > std::tie(right.at, right.order);
  }
};

constexpr base::Duration kLook = std::chrono::seconds(30);  // between two looks at what to warm
constexpr double kUsualPrompt = 30;                         // tokens, for what a class is promised
constexpr base::Duration kUseless = std::chrono::hours(1);  // a pre-warm that nobody used by then was wasted

class Simulation {
 public:
  Simulation(const Trace& trace, const ReplaySetup& setup)
      : trace_(trace), setup_(setup), config_(setup.config), tally_(setup.contestant.name) {
    config_.eviction.protect_classes = setup.contestant.classes;
    if (!setup.contestant.classes) config_.eviction.least_residency = {};
    for (const TraceModel& model : trace.models)
      add(model);
    if (setup.contestant.policy == EvictionPolicy::offline) {
      for (const TraceRequest& request : trace.requests)
        models_[request.model].uses.push_back(request.at_ns);
    }
  }

  ReplayResult run() {
    if (setup_.contestant.warming) push({}, Kind::look);
    std::size_t next = 0;
    while (next < trace_.requests.size() || !events_.empty()) {
      const bool arrives =
          next < trace_.requests.size() && (events_.empty() || instant(trace_.requests[next].at_ns) < events_.top().at);
      if (arrives) {
        now_ = instant(trace_.requests[next].at_ns);
        arrive(static_cast<std::uint32_t>(next++));
      } else {
        const Event event = events_.top();
        events_.pop();
        // Looks go on only while somebody may still ask.
        if (event.kind == Kind::look && event.generation == 0 && next == trace_.requests.size()) continue;
        now_ = event.at;
        handle(event);
      }
    }
    return finish();
  }

 private:
  void add(const TraceModel& model) {
    Held held{.id = model.id, .service_class = model.service_class};
    held.ladder = setup_.contestant.layers ? layered(model.size, setup_.costs) : stock(model.size, setup_.costs);
    if (setup_.contestant.classes) {
      const double warm_s = first_token_s(model.size, setup_.costs, kUsualPrompt);
      held.floor = policy::promise_of(model.service_class, held.ladder, warm_s, config_.admission).floor;
    }
    held_.push_back(std::move(held));
    models_.emplace_back();
  }

  void push(base::Mono at, Kind kind, std::uint32_t model = 0, std::uint64_t generation = 0) {
    events_.push({at, order_++, kind, model, generation});
  }

  [[nodiscard]] policy::Moment moment() const {
    const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(now_.time_since_epoch()).count();
    return {now_, trace_.local_minute + minutes};
  }

  void arrive(std::uint32_t index) {
    const TraceRequest& request = trace_.requests[index];
    Model& model = models_[request.model];
    Held& held = held_[request.model];
    tally_.asked(held.service_class);
    ++model.generation;
    ++model.next_index;
    model.demand.request_began(moment(), config_.demand);
    if (model.prewarmed) hit(model);
    if (held.rung == Rung::serving && !held.changing) return serve(index, {});
    model.pending.push_back({now_, index});
    held.in_use = true;
    if (held.changing) return;
    waiting_.push_back({index, held.id, held.service_class, now_});
    (void)try_load(request.model);
  }

  void hit(Model& model) {
    model.prewarmed = false;
    if (model.prewarm_learnt) model.demand.prewarm_hit();
    ++result_.prewarm_hits;
  }

  void waste(Model& model) {
    if (!model.prewarmed) return;
    model.prewarmed = false;
    if (model.prewarm_learnt) model.demand.prewarm_wasted();
    ++result_.prewarm_wasted;
  }

  struct Waited {
    double queued_s = 0;
    double load_s = 0;
  };

  // Its model is ready: it takes the engine until it is done.
  void serve(std::uint32_t index, const Waited& waited) {
    const TraceRequest& request = trace_.requests[index];
    Model& model = models_[request.model];
    Held& held = held_[request.model];
    const ModelSize& size = trace_.models[request.model].size;
    held.in_use = true;
    ++model.running;
    const double whole = request.busy_s > 0
                             ? static_cast<double>(request.busy_s)
                             : busy_s(size, setup_.costs, request.prompt_tokens, request.generated_tokens);
    const base::Mono end = now_ + of_seconds(whole);
    model.expected_end = std::max(model.expected_end, end);
    push(end, Kind::finished, request.model);
    const double ttft = waited.queued_s + waited.load_s + first_token_s(size, setup_.costs, request.prompt_tokens);
    tally_.served({.service_class = held.service_class,
                   .cold = waited.queued_s + waited.load_s > 0,
                   .queued_s = waited.queued_s,
                   .load_s = waited.load_s,
                   .ttft_s = ttft});
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case Kind::finished:
        return finished(event.model);
      case Kind::ready:
        return ready(event.model);
      case Kind::unload:
        return unload(event);
      case Kind::look:
        return look(event.generation != 0);
    }
  }

  void finished(std::uint32_t index) {
    Model& model = models_[index];
    Held& held = held_[index];
    model.demand.request_ended(moment());
    if (--model.running > 0) return;
    held.in_use = !model.pending.empty();
    held.last_used = now_;
    held.ageing = ageing_;
    held.kept_until = held.service_class == ServiceClass::voice         ? base::Mono::max()
                      : held.service_class == ServiceClass::interactive ? now_ + setup_.keep_alive
                                                                        : now_;
    held.kept_forever = held.service_class == ServiceClass::voice && !setup_.contestant.unloads;
    if (setup_.contestant.unloads) {
      held.kept_until = now_ + setup_.keep_alive;
      push(*held.kept_until, Kind::unload, index, model.generation);
    }
    settle();
  }

  void ready(std::uint32_t index) {
    Held& held = held_[index];
    held.changing = false;
    held.since = now_;
    held.in_use = false;
    auto pending = std::move(models_[index].pending);
    models_[index].pending.clear();
    for (const Pending& one : pending) {
      const base::Mono begins = std::max(one.since, models_[index].began);
      serve(one.request, {seconds(begins - one.since), seconds(now_ - begins)});
    }
    settle();
  }

  void unload(const Event& event) {
    Held& held = held_[event.model];
    if (event.generation != models_[event.model].generation || held.in_use || held.changing) return;
    held.rung = Rung::cold;
    ++result_.demotions;
    settle();
  }

  // Memory or a turn may have come free.
  void settle() {
    if (!waiting_.empty()) serve_waiting();
    if (setup_.contestant.warming && now_ - looked_ >= kLook) warm();
  }

  void serve_waiting() {
    std::vector<domain::ModelId> warm;
    for (const Held& held : held_) {
      if (held.rung == Rung::serving) warm.push_back(held.id);
    }
    std::vector<std::uint64_t> order;
    if (setup_.contestant.classes) {
      order = policy::order_of(waiting_, warm, config_.admission, now_);
    } else {
      for (const auto& one : waiting_)
        order.push_back(one.ticket);
    }
    std::vector<bool> tried(held_.size(), false);
    for (const std::uint64_t ticket : order) {
      const std::uint32_t model = trace_.requests[ticket].model;
      if (tried[model] || held_[model].changing || held_[model].rung == Rung::serving) continue;
      tried[model] = true;
      (void)try_load(model);
    }
  }

  // When time alone ends what it waits for, that is the time to ask again.
  void retry_when(const std::vector<policy::SparedModel>& waits_for) {
    for (const policy::SparedModel& one : waits_for) {
      if (!one.until || *one.until == base::Mono::max() || *one.until <= now_) continue;
      if (retry_at_ && *retry_at_ > now_ && *retry_at_ <= *one.until) continue;
      retry_at_ = one.until;
      push(*one.until, Kind::look, 0, 1);
    }
  }

  void look(bool retry) {
    if (retry) return serve_waiting_if_any();
    for (Model& model : models_) {
      if (model.prewarmed && now_ >= model.prewarm_ends) waste(model);
    }
    warm();
    push(now_ + kLook, Kind::look);
  }

  void serve_waiting_if_any() {
    if (!waiting_.empty()) serve_waiting();
  }

  [[nodiscard]] Footprint charged() const {
    Footprint sum;
    for (const Held& held : held_)
      sum += held.ladder.bytes_at(held.rung);
    return sum;
  }

  // What changes with time, before somebody decides.
  void refresh() {
    for (std::size_t index = 0; index < held_.size(); ++index) {
      Held& held = held_[index];
      if (setup_.contestant.policy == EvictionPolicy::hearth)
        held.reuse = models_[index].demand.reuse(moment(), config_.eviction.horizon);
      if (setup_.contestant.policy == EvictionPolicy::gdsf || setup_.contestant.policy == EvictionPolicy::hearth)
        held.uses = models_[index].demand.uses(now_, config_.demand.half_life);
      if (setup_.contestant.policy == EvictionPolicy::offline) held.next_use = next_use(models_[index]);
    }
  }

  static std::optional<base::Mono> next_use(const Model& model) {
    if (model.next_index >= model.uses.size()) return std::nullopt;
    return instant(model.uses[model.next_index]);
  }

  bool try_load(std::uint32_t index) {
    Held& held = held_[index];
    refresh();
    std::vector<policy::Running> running;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (models_[i].running > 0) running.push_back({held_[i].id, models_[i].expected_end});
    }
    const Footprint holds = held.ladder.bytes_at(held.rung);
    const Footprint target = held.ladder.bytes_at(Rung::serving);
    policy::ResidencyAsk ask;
    ask.fit.newcomer = {held.id, held.service_class, true, 0};
    ask.fit.needed = target.less(holds);
    ask.fit.holds = holds;
    ask.asked = models_[index].pending.front().since;
    std::vector<policy::Waiting> queue;
    if (setup_.contestant.classes) {
      for (const auto& one : waiting_) {
        if (one.model != held.id) queue.push_back(one);
      }
    }
    const policy::ResidencySnapshot snapshot{
        held_, running, queue, setup_.memory, setup_.memory.less(charged()), ageing_, recent_swaps()};
    const auto decision = policy::decide(setup_.contestant.policy, snapshot, ask, config_, now_);
    switch (decision.action) {
      case policy::ResidencyAction::refuse:
        return refuse(index);
      case policy::ResidencyAction::load:
        ageing_ = std::max(ageing_, decision.plan.ageing);
        begin(index, carry_out(decision.plan.demotions, held.service_class));
        return true;
      case policy::ResidencyAction::serve:
      case policy::ResidencyAction::wait:
        retry_when(decision.fit.waits_for);
        return false;
    }
    return false;
  }

  bool refuse(std::uint32_t index) {
    result_.refused += models_[index].pending.size();
    for ([[maybe_unused]] const auto& one : models_[index].pending)
      models_[index].demand.request_ended(moment());
    models_[index].pending.clear();
    held_[index].in_use = false;
    forget_waiting(index);
    return true;
  }

  void forget_waiting(std::uint32_t index) {
    std::erase_if(waiting_, [&](const policy::Waiting& one) { return one.model == held_[index].id; });
  }

  // `room_in`: when its memory is there.
  void begin(std::uint32_t index, base::Duration room_in) {
    Held& held = held_[index];
    const double load_s = held.ladder.ready_s_at(held.rung);
    ++(held.rung == Rung::hibernated ? result_.wakes : result_.loads);
    held.rung = Rung::serving;
    held.changing = true;
    models_[index].began = now_ + room_in;
    forget_waiting(index);
    push(models_[index].began + of_seconds(load_s), Kind::ready, index);
    const Footprint reserved = charged();
    result_.most_reserved = result_.most_reserved.at_least(reserved);
    if (setup_.check && !reserved.fits_in(setup_.memory)) ++result_.broken_invariants;
  }

  // One after the other; how long that takes.
  base::Duration carry_out(const std::vector<policy::Demotion>& demotions, ServiceClass for_class) {
    double leaving_s = 0;
    for (const policy::Demotion& demotion : demotions) {
      const auto found = std::ranges::find(held_, demotion.id, &Held::id);
      const auto index = static_cast<std::size_t>(found - held_.begin());
      const bool busy = models_[index].running > 0 || !models_[index].pending.empty() || found->changing;
      if (setup_.check && (busy || demotion.from != found->rung || demotion.to <= found->rung))
        ++result_.broken_invariants;
      if (found->service_class == ServiceClass::voice && for_class == ServiceClass::background)
        ++result_.voice_evicted_by_background;
      found->rung = demotion.to;
      found->since = now_;
      ++result_.demotions;
      leaving_s += leave_s(trace_.models[index].size, demotion.to);
      waste(models_[index]);
    }
    return of_seconds(leaving_s);
  }

  [[nodiscard]] std::size_t recent_swaps() {
    while (!swaps_.empty() && now_ - swaps_.front() > config_.eviction.swap_window)
      swaps_.pop_front();
    return swaps_.size();
  }

  void warm() {
    looked_ = now_;
    if (!waiting_.empty()) return;
    if (std::ranges::all_of(held_, [](const Held& held) { return held.rung == Rung::serving; })) return;
    refresh();
    std::vector<policy::Expected> expected;
    for (std::size_t index = 0; index < held_.size(); ++index) {
      const auto schedule = policy::scheduled(setup_.schedules, held_[index].id, held_[index].service_class, moment());
      expected.push_back({schedule.active, models_[index].demand.may_prewarm(config_.demand)});
    }
    const auto promotion = policy::plan_warming(held_, expected, setup_.memory.less(charged()), recent_swaps(),
                                                config_.eviction, setup_.warming, now_);
    if (!promotion) return;
    if (!promotion->demotions.empty()) swaps_.push_back(now_);
    const auto found = std::ranges::find(held_, promotion->id, &Held::id);
    const auto index = static_cast<std::uint32_t>(found - held_.begin());
    const base::Duration room_in = carry_out(promotion->demotions, found->service_class);
    models_[index].prewarm_learnt = !expected[index].scheduled;
    begin(index, room_in);
    models_[index].prewarmed = true;
    models_[index].prewarm_ends = now_ + kUseless;
    ++result_.prewarms;
  }

  ReplayResult finish() {
    for (const Model& model : models_)
      result_.unfinished += model.pending.size();
    return tally_.finish();
  }

  const Trace& trace_;
  const ReplaySetup& setup_;
  policy::ResidencyConfig config_;
  std::vector<Held> held_;
  std::vector<Model> models_;
  std::vector<policy::Waiting> waiting_;  // tickets are indices of requests; by arrival
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  base::Mono now_;
  base::Mono looked_;
  double ageing_ = 0;
  std::optional<base::Mono> retry_at_;
  std::deque<base::Mono> swaps_;
  Tally tally_;
  ReplayResult& result_ = tally_.result();
};

}  // namespace

std::vector<Contestant> all_contestants() {
  return {{"peer-lru", EvictionPolicy::lru, false, false, false, false},
          {"peer-ttl", EvictionPolicy::ttl, false, false, true, false},
          {"peer-count", EvictionPolicy::count, false, false, false, false},
          {"lru", EvictionPolicy::lru, true, false, false, false},
          {"gdsf", EvictionPolicy::gdsf, true, false, false, false},
          {"hearth-demand", EvictionPolicy::hearth, true, false, false, true},
          {"hearth", EvictionPolicy::hearth, true, true, false, true},
          {"offline", EvictionPolicy::offline, true, false, false, false}};
}

ReplayResult replay(const Trace& trace, const ReplaySetup& setup) { return Simulation(trace, setup).run(); }

}  // namespace hearth::lab
