#include "keeper/demoter.h"

#include <spdlog/spdlog.h>

#include "base/scope_exit.h"

namespace hearth::keeper {

using domain::ModelState;
using policy::Rung;

rt::Task<void> Demoter::run(policy::EvictionPlan plan, std::string by, Pages pages) {
  for (const auto& demotion : plan.demotions) {
    const auto found = parts_.residents.find(demotion.id);
    if (found == parts_.residents.end() || !may_demote(demotion.id, *found->second)) continue;
    std::shared_ptr<Resident> resident = found->second;
    co_await demote(std::move(resident), demotion, by, pages);
  }
}

rt::Task<void> Demoter::drop_pages(std::string by) {
  policy::EvictionPlan plan;
  for (const auto& [id, resident] : parts_.residents) {
    if (!resident->pages_kept()) continue;
    policy::Demotion demotion{.id = id, .from = Rung::hibernated, .to = Rung::hibernated};
    demotion.reason = "the pages of its weights leave memory";
    plan.demotions.push_back(std::move(demotion));
  }
  co_await run(std::move(plan), std::move(by), Pages::drop);
}

bool Demoter::may_demote(const domain::ModelId& id, const Resident& resident) const {
  const bool used = resident.in_flight() > 0 || parts_.books.promised(id) || resident.claims() > parts_.waiters(id);
  const bool settled = resident.state() == ModelState::ready || resident.state() == ModelState::hibernated;
  return settled && !used && !resident.cooling && !parts_.pinned(id);
}

rt::Task<void> Demoter::demote(std::shared_ptr<Resident> resident, policy::Demotion demotion, std::string by,
                               Pages pages) {
  resident->cooling = true;
  const base::ScopeExit settled([&] { resident->cooling = false; });
  auto done = co_await do_it(resident, demotion.to, pages);
  resident->readings.reset();
  if (done) {
    if (demotion.from != demotion.to) parts_.books.evicted(demotion.id, demotion.score);
    const bool asleep = demotion.to == Rung::hibernated;
    if (resident->pages_kept()) demotion.reason += "; its pages stay until the kernel wants them";
    tell(asleep ? "hibernated" : "evicted", demotion, by, demotion.reason, *done ? **done : demotion.freed.total());
    co_return;
  }
  // A request that came first is no failure.
  if (done.error().code == base::ErrorCode::in_use) co_return;
  if (demotion.to == Rung::hibernated) parts_.books.cannot_hibernate(demotion.id, *resident);
  spdlog::warn("taking memory from {}: {}", demotion.id.text(), done.error().message);
  tell("eviction_failed", demotion, by, done.error().message, std::nullopt);
}

// The bytes that left, where the engine's library counted them.
rt::Task<base::Result<std::optional<base::Bytes>>> Demoter::do_it(std::shared_ptr<Resident> resident, Rung to,
                                                                  Pages pages) {
  std::optional<base::Bytes> moved;
  if (to == Rung::hibernated) {
    auto work = co_await parts_.hibernate(resident, pages);
    if (!work) co_return base::pass(work);
    moved = work->bytes;
    co_return moved;
  }
  auto stopped = co_await resident->supervisor().stop();
  if (!stopped) co_return base::pass(stopped);
  co_return moved;
}

void Demoter::tell(const char* what, const policy::Demotion& demotion, const std::string& by, std::string why,
                   std::optional<base::Bytes> bytes) const {
  if (!parts_.on_event) return;
  domain::Event event;
  event.at = parts_.clock.wall();
  event.what = what;
  event.model = demotion.id.text();
  event.layer = demotion.to == Rung::hibernated ? domain::Layer::weights : domain::Layer::process;
  event.bytes = bytes;
  event.by = by;
  event.why = std::move(why);
  parts_.on_event(std::move(event));
}

}  // namespace hearth::keeper
