#include "keeper/warmer.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace hearth::keeper {

using domain::KeepSource;
using domain::ModelState;
using policy::Rung;

namespace {

constexpr std::chrono::seconds kEvery{15};
constexpr std::chrono::minutes kAfterFailure{5};
constexpr std::size_t kMostAtOnce = 16;  // in one look

bool serves(const Resident& resident) {
  const ModelState state = resident.state();
  return state == ModelState::ready || state == ModelState::busy;
}

}  // namespace

rt::Task<void> Warmer::run() {
  for (;;) {
    co_await look();
    (void)co_await changed_.wait_until(std::chrono::steady_clock::now() + kEvery);
  }
}

rt::Task<void> Warmer::look() {
  judge_outcomes();
  if (parts_.expectations.idle() && !anything_promised()) co_return;
  auto expected = co_await expected_now();
  for (const auto& one : expected) {
    const auto known = parts_.residents.find(one.id);
    if (known != parts_.residents.end() && serves(*known->second)) vote(one);
  }
  for (std::size_t count = 0; count < kMostAtOnce; ++count) {
    const bool warmed = co_await warm_one(expected);
    if (!warmed) break;
  }
}

rt::Task<std::vector<Warmer::Expected>> Warmer::expected_now() {
  const auto ids = co_await parts_.stored();
  std::vector<Expected> expected;
  for (const auto& id : ids) {
    const bool promised = co_await is_promised(id);
    auto expectation = parts_.expectations.look(id, parts_.class_of(id), lead_of(id), promised);
    if (!expectation) continue;
    const auto resident = co_await parts_.resident(id);
    if (resident)
      expected.push_back({id, std::move(*expectation)});
    else
      spdlog::debug("{} is expected and cannot be served: {}", id.text(), resident.error().message);
  }
  co_return expected;
}

bool Warmer::anything_promised() const {
  return std::ranges::any_of(parts_.room.config().policy.admission.max_cold_ttft,
                             [](const auto& limit) { return limit.has_value(); });
}

// Only a class with a limit has its models looked at: that makes what serves them.
rt::Task<bool> Warmer::is_promised(domain::ModelId id) {
  const auto& limits = parts_.room.config().policy.admission.max_cold_ttft;
  if (!limits[policy::index_of(parts_.class_of(id))]) co_return false;
  const auto resident = co_await parts_.resident(id);
  if (!resident) co_return false;
  const auto promise = parts_.room.books().cold_promise(id, **resident);
  const bool there = serves(**resident) || ((*resident)->hibernated() && promise.floor >= Rung::hibernated);
  co_return promise.keep_warm&& promise.kept && !there;
}

// A look too early does less harm than one too late.
base::Duration Warmer::lead_of(const domain::ModelId& id) const {
  const auto known = parts_.residents.find(id);
  base::Duration load = kEvery;
  if (known != parts_.residents.end()) {
    const double seconds = parts_.room.books().ladder(id, *known->second).ready_s_at(Rung::cold);
    load = std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds));
  }
  return load + kEvery;
}

void Warmer::judge_outcomes() {
  for (const auto& [id, resident] : parts_.residents) {
    if (const auto settled = parts_.expectations.waited(id, serves(*resident)))
      tell("prewarm_wasted", id, settled->source, "it was loaded and nobody used it in time");
  }
}

void Warmer::used(const domain::ModelId& id) {
  if (const auto settled = parts_.expectations.used(id))
    tell("prewarm_used", id, settled->source, "it was loaded before it was asked for");
}

rt::Task<bool> Warmer::warm_one(std::vector<Expected>& expected) {
  auto promotion = plan(expected);
  if (!promotion) co_return false;
  const auto found = std::ranges::find(expected, promotion->id, &Expected::id);
  Expectation expectation = std::move(found->expectation);
  expected.erase(found);
  co_await carry_out(std::move(*promotion), std::move(expectation));
  co_return true;
}

std::optional<policy::Promotion> Warmer::plan(const std::vector<Expected>& expected) {
  if (!parts_.room.may_grow()) return std::nullopt;
  const auto now = parts_.clock.now();
  const auto& config = parts_.room.config().policy.eviction;
  while (!swaps_.empty() && now - swaps_.front() > config.swap_window)
    swaps_.pop_front();
  const auto held = parts_.room.held();
  std::vector<policy::Expected> expectations;
  for (const auto& model : held) {
    const auto found = std::ranges::find(expected, model.id, &Expected::id);
    const bool is_expected = found != expected.end() && !parts_.expectations.waits_for_use(model.id);
    const bool scheduled = is_expected && found->expectation.source != KeepSource::demand;
    const bool may = is_expected && parts_.expectations.may_prewarm(model.id) && within_memory(model, held);
    expectations.push_back({.scheduled = scheduled, .may_prewarm = may, .candidate = is_expected});
  }
  return policy::plan_warming(held, expectations, parts_.room.books().ledger().free(), swaps_.size(), config, {}, now);
}

bool Warmer::within_memory(const policy::Held& model, const std::vector<policy::Held>& all) const {
  base::Bytes waiting = model.ladder.bytes_at(Rung::serving).total();
  for (const auto& other : all) {
    if (other.id != model.id && parts_.expectations.waits_for_use(other.id))
      waiting += other.ladder.bytes_at(other.rung).total();
  }
  return waiting <= parts_.memory;
}

rt::Task<void> Warmer::carry_out(policy::Promotion promotion, Expectation expectation) {
  const domain::ModelId id = promotion.id;
  const auto known = parts_.residents.find(id);
  if (known == parts_.residents.end()) co_return;
  const std::shared_ptr<Resident> resident = known->second;
  if (!promotion.demotions.empty()) swaps_.push_back(parts_.clock.now());
  std::string reason = promotion.reason + " (" + expectation.why + ")";
  auto admission = co_await parts_.room.promote(std::move(promotion), resident, owner_of(expectation.source));
  if (!admission) {
    // Somebody else has it by now: looked at again when that may have changed.
    parts_.expectations.failed(id, parts_.clock.now() + kEvery);
    co_return;
  }
  tell("prewarm", id, expectation.source, std::move(reason));
  const auto up = co_await parts_.bring_up(id, resident);
  if (!up) {
    spdlog::warn("warming {} beforehand: {}", id.text(), up.error().message);
    parts_.expectations.failed(id, parts_.clock.now() + kAfterFailure);
    co_return;
  }
  if (expectation.source == KeepSource::config) co_return;  // held by its promise, for no use in particular
  parts_.expectations.warmed(id, expectation);
  if (resident->awaited()) used(id);  // asked for while it loaded
  vote({id, expectation});
}

void Warmer::vote(const Expected& expected) {
  const auto now = parts_.clock.now();
  const auto& [source, until, why] = expected.expectation;
  const auto known = parts_.residents.find(expected.id);
  if (known == parts_.residents.end() || until <= now) return;
  if (known->second->votes.verdict(now).unload_now) return;  // told to go while it started
  known->second->votes.wish(owner_of(source), source, policy::KeepWish::lasting(until - now), now);
  if (parts_.on_vote) parts_.on_vote();
}

void Warmer::tell(const char* what, const domain::ModelId& id, KeepSource source, std::string why) const {
  if (!parts_.on_event) return;
  domain::Event event;
  event.at = parts_.clock.wall();
  event.what = what;
  event.model = id.text();
  event.layer = domain::Layer::weights;
  event.by = owner_of(source);
  event.why = std::move(why);
  parts_.on_event(std::move(event));
}

}  // namespace hearth::keeper
