#include "keeper/books.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "keeper/cold_start.h"
#include "keeper/ladder_of.h"

namespace hearth::keeper {

using domain::ModelState;
using policy::Charge;
using policy::Claim;
using policy::Footprint;
using policy::Phase;
using policy::Rung;

namespace {

// What the kernel measured of a whole process, told apart by what was expected of it.
Claim split(base::Bytes total, const Claim& expected) {
  Claim claim;
  for (const Charge charge : {Charge::weights, Charge::kv, Charge::compute, Charge::overhead, Charge::prefix}) {
    const base::Bytes part = std::min(total, expected[charge].host());
    claim[charge] = Footprint::host(part);
    total -= part;
  }
  claim[Charge::overhead] += Footprint::host(total);
  return claim;
}

Claim larger_of(const Claim& left, const Claim& right) {
  Claim claim;
  for (const Charge charge : policy::kAllCharges)
    claim[charge] = left[charge].at_least(right[charge]);
  return claim;
}

}  // namespace

Books::Books(Parts parts) : parts_(std::move(parts)), ledger_(Footprint::host(parts_.budget), parts_.reserve) {}

void Books::reconcile() {
  follow();
  note_host();
}

void Books::follow() {
  for (const auto& [id, resident] : parts_.residents)
    settle(id, *resident);
  std::vector<domain::ModelId> gone;
  for (const auto& [id, account] : ledger_.accounts()) {
    if (!parts_.residents.contains(id) && !promised(id)) gone.push_back(id);
  }
  for (const auto& id : gone)
    ledger_.release(id);
}

void Books::settle(const domain::ModelId& id, const Resident& resident) {
  Tenant& tenant = tenants_[id];
  switch (resident.supervisor().state()) {
    case ModelState::starting:
      if (ledger_.find(id) == nullptr) ledger_.take(id, estimate(id, resident).claim);
      ledger_.set_phase(id, Phase::starting);
      tenant.rung = Rung::serving;
      break;
    case ModelState::stopping:
      ledger_.set_phase(id, Phase::stopping);
      break;
    case ModelState::ready:
      settle_ready(id, resident, tenant);
      break;
    default:
      if (tenant.promises > 0) break;
      ledger_.release(id);
      tenant.rung = Rung::cold;
  }
}

void Books::settle_ready(const domain::ModelId& id, const Resident& resident, Tenant& tenant) {
  if (ledger_.find(id) == nullptr) ledger_.take(id, estimate(id, resident).claim);
  ledger_.set_phase(id, Phase::running);
  const std::uint64_t generation = resident.supervisor().generation();
  const bool fresh = std::exchange(tenant.ready_generation, generation) != generation;
  const bool asleep = resident.hibernated() && tenant.promises == 0;
  const Rung rung = asleep ? Rung::hibernated : Rung::serving;
  if (asleep && tenant.rung != Rung::hibernated) {
    const Claim left = hibernated_claim(ledger_.find(id)->promised, resident.hibernated_left.value_or(0));
    ledger_.take(id, left);
  } else if (!asleep && tenant.rung == Rung::hibernated) {
    ledger_.take(id, estimate(id, resident).claim);  // woken past us, by its library's own command
    ledger_.set_phase(id, Phase::running);
  }
  if (fresh || tenant.rung != rung) tenant.since = parts_.clock.now();
  tenant.rung = rung;
}

// Pages of files that our engines map count as available to the kernel, yet they are what we have given out; but for
// those of hibernated weights that were kept, which nobody was promised.
void Books::note_host() {
  const auto now = parts_.memory.memory();
  if (!now.total || !now.available) return;
  policy::HostMemory host{.total = *now.total, .available = *now.available};
  kept_ = 0;
  for (const auto& [id, resident] : parts_.residents) {
    const auto pid = resident->supervisor().pid();
    if (!pid) continue;
    const auto reading = parts_.stats.read(*pid);
    const base::Bytes file = reading.resident_file.value_or(0);
    const base::Bytes resident_bytes = reading.resident.value_or(0);
    if (resident->pages_kept()) {
      kept_ += file;
      host.ours += resident_bytes - std::min(resident_bytes, file);
      continue;
    }
    host.ours += resident_bytes;
    host.available -= std::min(host.available, file);
  }
  ledger_.note_host(host);
}

bool Books::fits_beside_pages(const Footprint& needed) const {
  const auto host = ledger_.host_free();
  return host && *host >= kept_ && *host - kept_ >= needed.host();
}

void Books::use_began(const domain::ModelId& id) { parts_.demands.use_began(id); }

void Books::use_ended(const domain::ModelId& id) {
  Tenant& tenant = tenants_[id];
  parts_.demands.use_ended(id);
  tenant.last_used = parts_.clock.now();
  tenant.ageing = ageing_;
}

bool Books::promised(const domain::ModelId& id) const {
  const auto found = tenants_.find(id);
  return found != tenants_.end() && found->second.promises > 0;
}

bool Books::on_its_way(const domain::ModelId& id, const Resident& resident) const {
  if (ledger_.find(id) == nullptr) return false;
  if (promised(id)) return true;
  const ModelState state = resident.supervisor().state();
  return state == ModelState::starting || (state == ModelState::ready && !resident.hibernated());
}

Footprint Books::holds(const domain::ModelId& id) const {
  const auto* account = ledger_.find(id);
  return account == nullptr ? Footprint{} : account->charged().total();
}

Footprint Books::needed(const domain::ModelId& id, const Resident& resident) const {
  return estimate(id, resident).claim.total().less(holds(id));
}

policy::Estimate Books::estimate(const domain::ModelId& id, const Resident& resident) const {
  return estimator_.estimate(id, resident.needs.options, resident.needs.prior);
}

base::Status Books::reserve(const domain::ModelId& id, const Resident& resident) {
  if (auto done = ledger_.resize(id, estimate(id, resident).claim); !done) return done;
  Tenant& tenant = tenants_[id];
  tenant.rung = Rung::serving;
  tenant.since = parts_.clock.now();
  return {};
}

Rung Books::rung_of(const domain::ModelId& id) const {
  const auto found = tenants_.find(id);
  return found == tenants_.end() ? Rung::cold : found->second.rung;
}

bool Books::hibernates(const domain::ModelId& id, const Resident& resident) const {
  const auto found = tenants_.find(id);
  const bool refused =
      found != tenants_.end() && found->second.cannot_hibernate_in == resident.supervisor().generation();
  return resident.hibernated() || (!refused && parts_.can_hibernate(resident));
}

policy::Ladder Books::ladder(const domain::ModelId& id, const Resident& resident) const {
  const auto* account = ledger_.find(id);
  const Rung rung = rung_of(id);
  LadderFacts facts{.serving = estimate(id, resident).claim,
                    .hibernated = std::nullopt,
                    .start_s = resident.typical_start_s(),
                    .wake_s = resident.typical_wake_s()};
  if (account != nullptr && rung == Rung::serving) facts.serving = account->charged();
  if (hibernates(id, resident))
    facts.hibernated = hibernated_claim(facts.serving, resident.hibernated_left.value_or(0));
  if (account != nullptr && rung == Rung::hibernated) facts.hibernated = account->charged();
  return ladder_of(facts);
}

policy::ColdStartPromise Books::cold_promise(const domain::ModelId& id, const Resident& resident) const {
  return policy::promise_of(parts_.class_of(id), ladder(id, resident), resident.typical_ttft_s().value_or(0),
                            parts_.admission);
}

domain::ColdStart Books::cold_start(const domain::ModelId& id, const Resident& resident) const {
  const auto& limit = parts_.admission.max_cold_ttft[policy::index_of(parts_.class_of(id))];
  return cold_start_of(cold_promise(id, resident), limit, rung_of(id));
}

double Books::load_s(const domain::ModelId& id, const Resident& resident) const {
  return ladder(id, resident).ready_s_at(resident.hibernated() ? Rung::hibernated : Rung::cold);
}

policy::Held Books::held_of(const domain::ModelId& id, const Resident& resident, std::size_t waiters,
                            bool spare_waiting) const {
  const ModelState state = resident.supervisor().state();
  policy::Held held{.id = id, .service_class = parts_.class_of(id), .rung = rung_of(id)};
  held.ladder = ladder(id, resident);
  held.in_use = resident.in_flight() > 0 || promised(id) || resident.claims() > (spare_waiting ? 0 : waiters);
  held.changing = resident.cooling || state == ModelState::starting || state == ModelState::stopping;
  held.pinned = parts_.pinned(id) && held.rung != Rung::cold;
  if (const auto promise = cold_promise(id, resident); promise.keep_warm) held.floor = promise.floor;
  const auto verdict = resident.votes.verdict(parts_.clock.now());
  if (!verdict.unload_now) held.kept_until = verdict.until;
  held.kept_forever = verdict.forever;
  held.uses = parts_.demands.uses(id);
  held.reuse = parts_.demands.reuse(id, parts_.horizon);
  const auto found = tenants_.find(id);
  if (found == tenants_.end()) return held;
  const Tenant& tenant = found->second;
  held.since = tenant.since;
  held.last_used = tenant.last_used;
  held.ageing = tenant.ageing;
  return held;
}

std::vector<policy::Held> Books::held(const Waiters& waiters, bool spare_waiting) const {
  std::vector<policy::Held> all;
  for (const auto& [id, resident] : parts_.residents) {
    const auto waiting = waiters.find(id);
    all.push_back(held_of(id, *resident, waiting == waiters.end() ? 0 : waiting->second, spare_waiting));
  }
  return all;
}

void Books::measured(const domain::ModelId& id, const Resident& resident, const sys::MemoryRollup& memory) {
  const auto* account = ledger_.find(id);
  const bool serves = resident.supervisor().state() == ModelState::ready && !resident.hibernated();
  if (account == nullptr || !serves || resident.cooling || resident.requests() == 0) return;
  Tenant& tenant = tenants_[id];
  const std::uint64_t generation = resident.supervisor().generation();
  if (std::exchange(tenant.peak_generation, generation) != generation) {
    tenant.peak.reset();
    tenant.overhead.reset();
  }
  // The prompt cache is empty when an engine is measured first, and what grows later is its.
  Claim expected = resident.needs.prior;
  expected[Charge::overhead] = Footprint::host(tenant.overhead.value_or(memory.proportional));
  Claim claim = split(memory.proportional, expected);
  if (!tenant.overhead) tenant.overhead = claim[Charge::overhead].host();
  claim[Charge::locked] = Footprint::host(memory.locked);
  ledger_.measured(id, claim);
  // The prompt cache fills up later; what it may take stays reserved.
  claim[Charge::prefix] = resident.needs.prior[Charge::prefix];
  const Claim peak = tenant.peak ? larger_of(*tenant.peak, claim) : claim;
  if (tenant.peak && peak == *tenant.peak) return;
  tenant.peak = peak;
  estimator_.learn(id, resident.needs.options, peak, resident.needs.prior);
  if (!parts_.on_learnt) return;
  if (const auto learnt = estimator_.learnt(id, resident.needs.options)) parts_.on_learnt(*learnt);
}

void Books::cannot_hibernate(const domain::ModelId& id, const Resident& resident) {
  tenants_[id].cannot_hibernate_in = resident.supervisor().generation();
}

void Books::evicted(const domain::ModelId& id, double ageing) {
  Tenant& tenant = tenants_[id];
  ++tenant.evictions;
  tenant.away = true;
  ageing_ = std::max(ageing_, ageing);
}

bool Books::comes_back(const domain::ModelId& id) { return std::exchange(tenants_[id].away, false); }

std::uint64_t Books::evictions(const domain::ModelId& id) const {
  const auto found = tenants_.find(id);
  return found == tenants_.end() ? 0 : found->second.evictions;
}

void Books::forget(const domain::ModelId& id) {
  estimator_.forget(id);
  parts_.demands.forget(id);
  if (!promised(id)) tenants_.erase(id);
}

std::vector<domain::MemoryShare> Books::shares() const {
  std::vector<domain::MemoryShare> shares;
  for (const auto& row : ledger_.rows()) {
    domain::MemoryShare share{.owner = row.owner, .kind = std::string(name_of(row.charge)), .bytes = row.bytes.total()};
    if (row.phase) share.phase = name_of(*row.phase);
    shares.push_back(std::move(share));
  }
  return shares;
}

}  // namespace hearth::keeper
