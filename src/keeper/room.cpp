#include "keeper/room.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/scope_exit.h"
#include "keeper/refusal.h"
#include "rt/deadline.h"

namespace hearth::keeper {

using base::ErrorCode;
using domain::ModelId;
using domain::ServiceClass;
using policy::ResidencyAction;

namespace {

// What no event tells: a vote whose time is up, a model that was too young, memory that others gave back.
constexpr std::chrono::milliseconds kLookAgain{250};
constexpr std::size_t kMostPassed = 8;
constexpr std::size_t kReloadsKept = 256;

bool contains(const std::vector<ModelId>& ids, const ModelId& id) { return std::ranges::find(ids, id) != ids.end(); }

}  // namespace

Room::Room(Parts parts)
    : parts_(std::move(parts)),
      books_({.clock = parts_.clock,
              .memory = parts_.memory,
              .stats = parts_.stats,
              .residents = parts_.residents,
              .pinned = parts_.pinned,
              .class_of = parts_.class_of,
              .can_hibernate = parts_.can_hibernate,
              .budget = parts_.config.budget,
              .reserve = parts_.config.reserve,
              .demands = parts_.demands,
              .admission = parts_.config.policy.admission,
              .horizon = parts_.config.policy.eviction.horizon,
              .on_learnt = parts_.on_learnt}),
      demoter_({.clock = parts_.clock,
                .residents = parts_.residents,
                .books = books_,
                .hibernate = parts_.hibernate,
                .pinned = parts_.pinned,
                .on_event = parts_.on_event,
                .waiters = [this](const ModelId& id) { return waiters_of(id); }}),
      changed_(parts_.executor),
      tasks_(parts_.executor, parts_.on_crash) {}

Room::Promise::Promise(Room& room, ModelId id) : room_(room), id_(std::move(id)) { room_.books_.promise(id_); }

Room::Promise::~Promise() {
  room_.books_.promise_over(id_);
  room_.look_again();
}

ServiceClass Room::class_of(const ModelId& id, std::optional<ServiceClass> asked) const {
  return std::max(parts_.class_of(id), asked.value_or(ServiceClass::voice));  // a lower class is a larger value
}

rt::Task<base::Result<Room::Admission>> Room::admit(ModelId id, std::shared_ptr<Resident> resident,
                                                    std::optional<ServiceClass> asked) {
  // Most requests end here: the kernel is not asked for what only a decision needs.
  books_.follow();
  if (books_.on_its_way(id, *resident)) co_return std::make_unique<Promise>(*this, id);
  policy::Waiting who{++tickets_, id, class_of(id, asked), parts_.clock.now()};
  if (const auto verdict = judge(who); !verdict.accepted) {
    tell("load_refused", id, verdict.reason);
    co_return std::unexpected(no_place(id, who.service_class, verdict));
  }
  const auto place = queue_.insert(queue_.end(), Place{std::move(who)});
  const base::ScopeExit leave([&] {
    queue_.erase(place);
    look_again();
  });
  co_return co_await wait_in(place, std::move(resident));
}

rt::Task<base::Result<Room::Admission>> Room::wait_in(Queue::iterator place, std::shared_ptr<Resident> resident) {
  const policy::Waiting who = place->waiting;
  for (bool told = false;;) {
    books_.reconcile();
    if (books_.on_its_way(who.model, *resident)) co_return std::make_unique<Promise>(*this, who.model);
    Look now = look(who, *resident);
    if (auto done = try_now(place, *resident, now)) co_return std::move(*done);
    if (now.decision.action == ResidencyAction::refuse) {
      auto error = co_await refusal(who, resident);
      co_return std::unexpected(std::move(error));
    }
    if (!told) tell("waiting_for_memory", who.model, judge(who).reason + ": " + now.decision.reason);
    told = true;
    const base::Duration waited = parts_.clock.now() - who.since;
    const bool others_have_it = now.its_turn && now.decision.fit.outcome == policy::FitOutcome::after_waiting &&
                                now.decision.fit.waits_for.empty();
    if (!carrying_ && waited >= (others_have_it ? parts_.config.longest_wait_for_others : parts_.config.longest_wait)) {
      tell("load_refused", who.model, now.decision.reason);
      co_return std::unexpected(waited_in_vain(who.model, now.decision.fit, waited));
    }
    (void)co_await changed_.wait_until(std::chrono::steady_clock::now() + kLookAgain);
    const auto state = co_await rt::asio::this_coro::cancellation_state;
    if (stopping_ || state.cancelled() != rt::asio::cancellation_type::none)
      co_return base::fail(ErrorCode::cancelled, "the wait for memory was given up");
  }
}

// Empty: it has to wait, or is to be refused.
std::optional<base::Result<Room::Admission>> Room::try_now(Queue::iterator place, const Resident& resident,
                                                           Look& look) {
  const policy::Waiting& who = place->waiting;
  if (look.decision.action != ResidencyAction::load || carrying_) return std::nullopt;
  if (!look.its_turn && !may_pass(who, look.decision)) return std::nullopt;
  if (!look.decision.plan.demotions.empty()) {
    begin(std::move(look.decision.plan), "request for " + who.model.text(), pages_for(who.model, resident));
    return std::nullopt;
  }
  if (const auto reserved = books_.reserve(who.model, resident); !reserved) {
    look.decision.reason = reserved.error().message;
    return std::nullopt;
  }
  note_load(who.model, resident);
  return std::make_unique<Promise>(*this, who.model);
}

// Those ahead lack more than is free, so that waiting for them would leave memory unused.
bool Room::may_pass(const policy::Waiting& who, const policy::ResidencyDecision& decision) {
  if (!decision.plan.demotions.empty()) return false;
  const auto& admission = parts_.config.policy.admission;
  const auto now = parts_.clock.now();
  const auto mine = policy::effective_class(who, admission, now);
  const auto ahead = ahead_of(who);
  const bool allowed = std::ranges::all_of(ahead, [&](const Place* one) {
    return one->passed < kMostPassed && mine <= policy::effective_class(one->waiting, admission, now);
  });
  if (!allowed) return false;
  for (const Place* one : ahead)
    std::ranges::find(queue_, one->waiting.ticket, [](const Place& place) { return place.waiting.ticket; })->passed++;
  return true;
}

std::vector<const Room::Place*> Room::ahead_of(const policy::Waiting& who) const {
  std::vector<policy::Waiting> all = others(who.ticket);
  all.push_back(who);
  std::vector<const Place*> ahead;
  for (const auto ticket : policy::order_of(all, warm(), parts_.config.policy.admission, parts_.clock.now())) {
    if (ticket == who.ticket) break;
    const auto found = std::ranges::find(queue_, ticket, [](const Place& place) { return place.waiting.ticket; });
    if (found != queue_.end()) ahead.push_back(&*found);
  }
  return ahead;
}

policy::FitAsk Room::ask_of(const policy::Waiting& who, const Resident& resident) const {
  policy::FitAsk ask;
  ask.newcomer = {.id = who.model, .service_class = who.service_class};
  ask.needed = books_.needed(who.model, resident);
  ask.holds = books_.holds(who.model);
  ask.context = resident.needs.options.context;
  ask.kv_bytes_per_token = resident.needs.kv_bytes_per_token;
  return ask;
}

policy::ResidencyDecision Room::decision_for(const policy::Waiting& who, const Resident& resident,
                                             const policy::FitAsk& ask, bool spare_waiting) const {
  const auto models = held_for(who, resident, spare_waiting);
  const auto queue = others(who.ticket);
  const policy::ResidencySnapshot snapshot{.models = models,
                                           .queue = queue,
                                           .capacity = books_.ledger().budget(),
                                           .free = books_.ledger().free(),
                                           .ageing = books_.ageing()};
  const policy::ResidencyAsk wanted{.fit = ask, .asked = who.since};
  return policy::decide(policy::EvictionPolicy::hearth, snapshot, wanted, parts_.config.policy, parts_.clock.now());
}

Room::Look Room::look(const policy::Waiting& who, const Resident& resident,
                      std::vector<policy::Quantisation> smaller) const {
  policy::FitAsk ask = ask_of(who, resident);
  ask.quantisations = std::move(smaller);
  Look look{.decision = decision_for(who, resident, ask, true), .its_turn = ahead_of(who).empty()};
  // Two that wait for what the other one still holds would wait for ever.
  if (look.its_turn && look.decision.action == ResidencyAction::wait && everything_idle())
    look.decision = decision_for(who, resident, ask, false);
  return look;
}

std::vector<policy::Held> Room::held_for(const policy::Waiting& who, const Resident& resident,
                                         bool spare_waiting) const {
  auto models = books_.held(waiters(), spare_waiting);
  if (!thrashing_) return models;
  const auto turn = policy::thrashing_turn(books_.load_s(who.model, resident), parts_.config.policy.pressure);
  for (auto& model : models)
    model.in_use = model.in_use || held_on_purpose(model, who, turn);
  return models;
}

// REQUIRES: there is thrashing.
bool Room::held_on_purpose(const policy::Held& model, const policy::Waiting& who, base::Duration turn) const {
  if (model.id == who.model || model.rung != policy::Rung::serving) return false;
  if (!contains(thrashing_->keep, model.id) || who.service_class < model.service_class) return false;
  const auto now = parts_.clock.now();
  return now - model.last_used < turn && now - who.since < turn;
}

bool Room::everything_idle() const {
  return !carrying_ && std::ranges::none_of(books_.held(waiters(), false),
                                            [](const policy::Held& model) { return model.in_use || model.changing; });
}

rt::Task<base::Error> Room::refusal(policy::Waiting who, std::shared_ptr<Resident> resident) {
  auto smaller = co_await parts_.smaller(who.model, resident->needs.family);
  const Look now = look(who, *resident, std::move(smaller));
  std::vector<ModelId> pinned;
  for (const auto& model : books_.held(waiters(), true)) {
    if (model.pinned && model.id != who.model) pinned.push_back(model.id);
  }
  tell("load_refused", who.model, now.decision.reason);
  co_return never_fits(who.model, now.decision.fit, pinned);
}

rt::Task<domain::LoadPlan> Room::plan(ModelId id, std::shared_ptr<Resident> resident,
                                      std::optional<ServiceClass> asked) {
  auto smaller = co_await parts_.smaller(id, resident->needs.family);
  books_.reconcile();
  const policy::Waiting who{tickets_ + 1, id, class_of(id, asked), parts_.clock.now()};
  const Look now = look(who, *resident, std::move(smaller));
  const auto& decision = now.decision;
  domain::LoadPlan plan{.action = std::string(name_of(decision.action)),
                        .why = decision.reason,
                        .needed = books_.needed(id, *resident).total(),
                        .available = decision.fit.available.total(),
                        .basis = books_.estimate(id, *resident).basis};
  const bool on_its_way = books_.on_its_way(id, *resident);
  if (on_its_way) plan.action = name_of(ResidencyAction::serve);
  if (!on_its_way && !now.its_turn && decision.action == ResidencyAction::load) {
    plan.action = name_of(ResidencyAction::wait);
    plan.why = "others wait for memory and go first";
  }
  if (on_its_way || decision.action == ResidencyAction::serve) plan.available = books_.ledger().free().total();
  if (plan.action == name_of(ResidencyAction::load)) {
    for (const auto& one : decision.plan.demotions)
      plan.demotions.push_back(
          {one.id, std::string(name_of(one.from)), std::string(name_of(one.to)), one.freed.total(), one.reason});
  }
  for (const auto& one : decision.fit.waits_for)
    plan.waits_for.push_back(one.id.text());
  plan.largest_context = decision.fit.largest_context;
  plan.smaller_quantisations = decision.fit.smaller_quantisations;
  if (decision.action != ResidencyAction::refuse) plan.ready_in_ms = decision.ready_in_s * 1000;
  if (plan.action != name_of(ResidencyAction::wait) && plan.action != name_of(ResidencyAction::refuse))
    plan.wait_ms = 0;
  else if (decision.fit.expected_wait)
    plan.wait_ms = base::to_ms(*decision.fit.expected_wait);
  co_return plan;
}

policy::QueueVerdict Room::judge(const policy::Waiting& who) const {
  std::vector<policy::ServiceTimes> times;
  for (const auto& [id, resident] : parts_.residents)
    times.push_back({.model = id, .load_s = resident->typical_start_s()});
  return policy::judge_waiting(who, others(who.ticket), warm(), times, parts_.config.policy.admission,
                               parts_.clock.now());
}

std::vector<policy::Waiting> Room::others(std::uint64_t ticket) const {
  std::vector<policy::Waiting> all;
  for (const Place& place : queue_) {
    if (place.waiting.ticket != ticket) all.push_back(place.waiting);
  }
  return all;
}

std::vector<ModelId> Room::warm() const {
  std::vector<ModelId> ids;
  for (const auto& [id, resident] : parts_.residents) {
    if (books_.on_its_way(id, *resident)) ids.push_back(id);
  }
  return ids;
}

Books::Waiters Room::waiters() const {
  Books::Waiters by_model;
  for (const Place& place : queue_)
    ++by_model[place.waiting.model];
  return by_model;
}

std::size_t Room::waiters_of(const ModelId& id) const {
  return static_cast<std::size_t>(
      std::ranges::count(queue_, id, [](const Place& place) { return place.waiting.model; }));
}

void Room::begin(policy::EvictionPlan plan, std::string by, Pages pages) {
  carrying_ = true;
  tasks_.spawn(carry_out(std::move(plan), std::move(by), pages));
}

rt::Task<void> Room::carry_out(policy::EvictionPlan plan, std::string by, Pages pages) {
  const base::ScopeExit done([this] {
    carrying_ = false;
    look_again();
  });
  co_await demoter_.run(std::move(plan), std::move(by), pages);
}

Pages Room::pages_for(const ModelId& id, const Resident& resident) const {
  return books_.fits_beside_pages(books_.needed(id, resident)) ? Pages::keep : Pages::drop;
}

rt::Task<void> Room::relieve(policy::EvictionPlan plan) {
  const base::ScopeExit done([this] { carrying_ = false; });
  co_await demoter_.drop_pages("memory pressure");
  co_await carry_out(std::move(plan), "memory pressure", Pages::drop);
}

std::vector<policy::Held> Room::held() {
  books_.reconcile();
  return books_.held(waiters(), true);
}

rt::Task<base::Result<Room::Admission>> Room::promote(policy::Promotion promotion, std::shared_ptr<Resident> resident,
                                                      std::string by) {
  const ModelId id = promotion.id;
  if (!may_grow()) co_return base::fail(ErrorCode::loading, "memory is wanted by others");
  if (!promotion.demotions.empty()) {
    policy::EvictionPlan plan;
    plan.demotions = std::move(promotion.demotions);
    begin(std::move(plan), by + " of " + id.text(), pages_for(id, *resident));
  }
  while (carrying_)
    (void)co_await changed_.wait_until(std::chrono::steady_clock::now() + kLookAgain);
  if (!may_grow()) co_return base::fail(ErrorCode::loading, "memory is wanted by others");
  books_.reconcile();
  if (!books_.on_its_way(id, *resident)) {
    if (auto reserved = books_.reserve(id, *resident); !reserved) co_return base::pass(reserved);
    note_load(id, *resident);
  }
  co_return std::make_unique<Promise>(*this, id);
}

void Room::note_load(const ModelId& id, const Resident& resident) {
  tell("memory_reserved", id, "for its load", books_.holds(id).total());
  if (!books_.comes_back(id) || resident.pages_kept()) return;  // nothing is read again: no thrashing
  const auto now = parts_.clock.now();
  const auto& config = parts_.config.policy.pressure;
  std::erase_if(reloads_, [&](const policy::Reload& one) { return now - one.at > config.thrash_window; });
  if (reloads_.size() >= kReloadsKept) reloads_.erase(reloads_.begin());
  reloads_.push_back({id, now, books_.load_s(id, resident)});
  look_at_thrashing();
}

void Room::look_at_thrashing() {
  auto found = policy::find_thrashing(reloads_, books_.held(waiters(), true), books_.ledger().budget(),
                                      parts_.config.policy.pressure, parts_.clock.now());
  if (found && !thrashing_) tell("thrashing", std::nullopt, found->sentence);
  if (!found && thrashing_)
    tell("thrashing_over", std::nullopt, "the models in use fit, or take turns that are long enough");
  thrashing_ = std::move(found);
}

policy::PressureReading Room::read_pressure() {
  const Counters now{parts_.clock.now(), parts_.memory.swapped_in(), parts_.memory.refaults(),
                     parts_.memory.reclaim_scans()};
  policy::PressureReading reading{.psi_some_avg10 = parts_.memory.pressure().memory_some_avg10,
                                  .available = parts_.memory.memory().available,
                                  .swap_in_per_s = std::nullopt,
                                  .refaults_per_s = std::nullopt,
                                  .reclaim_scans_per_s = std::nullopt};
  const auto rate = [&](const auto& before, const auto& after) -> std::optional<double> {
    const double seconds = base::to_ms(now.at - counters_->at) / 1000;
    if (!before || !after || seconds <= 0 || *after < *before) return std::nullopt;
    return static_cast<double>(*after - *before) / seconds;
  };
  if (counters_) {
    reading.swap_in_per_s = rate(counters_->swapped_in, now.swapped_in);
    reading.refaults_per_s = rate(counters_->refaults, now.refaults);
    reading.reclaim_scans_per_s = rate(counters_->reclaim_scans, now.reclaim_scans);
  }
  counters_ = now;
  return reading;
}

void Room::look_at_pressure() {
  books_.reconcile();
  if (thrashing_) look_at_thrashing();
  const auto reading = read_pressure();
  if (carrying_) return;  // what is under way has to show first
  const auto held = books_.held(waiters(), true);
  auto decision = policy::judge_pressure(reading, parts_.config.reserve, held, pressure_, parts_.config.policy.pressure,
                                         parts_.config.policy.eviction, parts_.clock.now());
  pressure_text_ = decision.reason;
  may_grow_ = decision.may_grow;
  if (decision.level != level_)
    tell("pressure", std::nullopt, fmt::format("{}: {}", name_of(decision.level), decision.reason));
  level_ = decision.level;
  const bool pages_to_drop = level_ != policy::PressureLevel::calm && books_.pages_kept() > 0;
  if (decision.plan.demotions.empty() && !pages_to_drop) return;
  carrying_ = true;
  tasks_.spawn(relieve(std::move(decision.plan)));
}

rt::Task<void> Room::run() {
  constexpr std::chrono::seconds kEvery{2};
  for (;;) {
    const bool idle = books_.ledger().accounts().empty();
    if (idle) {
      counters_.reset();
      may_grow_ = true;  // nothing is watched while nothing is held; the ledger still keeps the reserve
      (void)co_await changed_.wait_until(base::Mono::max());
    } else {
      const bool waited = co_await rt::pause(kEvery);
      if (!waited) co_return;
      look_at_pressure();
    }
    const auto state = co_await rt::asio::this_coro::cancellation_state;
    if (state.cancelled() != rt::asio::cancellation_type::none) co_return;
  }
}

rt::Task<void> Room::stop() {
  stopping_ = true;
  look_again();
  tasks_.cancel_all();
  const bool ended = co_await tasks_.join(std::chrono::seconds(20));
  if (!ended) spdlog::warn("taking memory from a model did not end in time");
}

void Room::describe(const ModelId& id, const Resident& resident, domain::ModelView& view) {
  books_.reconcile();
  if (const auto holds = books_.holds(id); !holds.empty()) view.memory_reserved = holds.total();
  if (const auto estimate = books_.estimate(id, resident).claim.total(); !estimate.empty())
    view.memory_estimated = estimate.total();
  view.evictions = books_.evictions(id);
  view.cold_start = books_.cold_start(id, resident);
  if (thrashing_ && contains(thrashing_->models, id)) view.thrashing = thrashing_->sentence;
}

domain::MemoryPlan Room::memory_plan() {
  books_.reconcile();
  const auto& ledger = books_.ledger();
  domain::MemoryPlan plan{.budget = ledger.budget().total(),
                          .reserve = parts_.config.reserve,
                          .reserved = ledger.charged().total(),
                          .free = ledger.free().total(),
                          .owners = books_.shares(),
                          .waiting = queue_.size(),
                          .pressure = pressure_text_};
  if (thrashing_) plan.pressure = thrashing_->sentence;
  return plan;
}

void Room::tell(const char* what, const std::optional<ModelId>& id, std::string why,
                std::optional<base::Bytes> bytes) const {
  if (!parts_.on_event) return;
  domain::Event event;
  event.at = parts_.clock.wall();
  event.what = what;
  if (id) event.model = id->text();
  event.bytes = bytes;
  event.by = "server";
  event.why = std::move(why);
  parts_.on_event(std::move(event));
}

}  // namespace hearth::keeper
