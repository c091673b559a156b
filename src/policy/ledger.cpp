#include "policy/ledger.h"

#include <fmt/format.h>

namespace hearth::policy {
namespace {

// These fill up while requests run, so that less than was promised is no reason to give the rest away.
bool grows(Charge charge) { return charge == Charge::kv || charge == Charge::compute || charge == Charge::prefix; }

bool counts(Charge charge) { return charge != Charge::locked; }

base::Error no_room(const domain::ModelId& id, const Footprint& needed, const Footprint& available) {
  return {base::ErrorCode::does_not_fit,
          fmt::format("{} needs {}, {} are available", id.text(), format(needed), format(available))};
}

}  // namespace

std::string_view name_of(Charge charge) {
  switch (charge) {
    case Charge::weights:
      return "weights";
    case Charge::locked:
      return "locked";
    case Charge::kv:
      return "kv";
    case Charge::compute:
      return "compute";
    case Charge::prefix:
      return "prefix";
    case Charge::overhead:
      return "overhead";
    case Charge::pages:
      return "pages";
    case Charge::other_services:
      return "other_services";
    case Charge::reserve:
      return "reserve";
  }
  return "overhead";
}

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::starting:
      return "starting";
    case Phase::running:
      return "running";
    case Phase::stopping:
      return "stopping";
  }
  return "stopping";
}

Footprint Claim::total() const {
  Footprint sum;
  for (const Charge charge : kAllCharges) {
    if (counts(charge)) sum += (*this)[charge];
  }
  return sum;
}

Claim Account::charged() const {
  if (!measured) return promised;
  Claim out;
  for (const Charge charge : kAllCharges) {
    const bool larger = phase == Phase::starting || grows(charge);
    out[charge] = larger ? promised[charge].at_least((*measured)[charge]) : (*measured)[charge];
  }
  return out;
}

base::Status Ledger::admit(const domain::ModelId& id, const Claim& claim) {
  if (accounts_.contains(id))
    return base::fail(base::ErrorCode::in_use, fmt::format("{} already has memory promised to it", id.text()));
  if (!claim.total().fits_in(free())) return std::unexpected(no_room(id, claim.total(), free()));
  accounts_.emplace(id, Account{.promised = claim});
  return {};
}

base::Status Ledger::resize(const domain::ModelId& id, const Claim& claim) {
  const auto found = accounts_.find(id);
  if (found == accounts_.end()) return admit(id, claim);
  const Footprint more = claim.total().less(found->second.charged().total());
  if (!more.fits_in(free())) return std::unexpected(no_room(id, more, free()));
  found->second.promised = claim;
  found->second.measured.reset();
  return {};
}

void Ledger::take(const domain::ModelId& id, const Claim& claim) {
  Account& account = accounts_[id];
  account.promised = claim;
  account.measured.reset();
}

void Ledger::set_phase(const domain::ModelId& id, Phase phase) {
  if (const auto found = accounts_.find(id); found != accounts_.end()) found->second.phase = phase;
}

void Ledger::measured(const domain::ModelId& id, const Claim& claim) {
  if (const auto found = accounts_.find(id); found != accounts_.end()) found->second.measured = claim;
}

void Ledger::release(const domain::ModelId& id) { accounts_.erase(id); }

const Account* Ledger::find(const domain::ModelId& id) const {
  const auto found = accounts_.find(id);
  return found == accounts_.end() ? nullptr : &found->second;
}

Footprint Ledger::charged() const {
  Footprint sum;
  for (const auto& [id, account] : accounts_)
    sum += account.charged().total();
  return sum;
}

Footprint Ledger::promised() const {
  Footprint sum;
  for (const auto& [id, account] : accounts_)
    sum += account.promised.total();
  return sum;
}

base::Bytes Ledger::untouched() const {
  base::Bytes charged_bytes = 0;
  for (const auto& [id, account] : accounts_)
    charged_bytes += account.charged().total().host();
  return charged_bytes > host_->ours ? charged_bytes - host_->ours : 0;
}

std::optional<base::Bytes> Ledger::host_free() const {
  if (!host_) return std::nullopt;
  return Footprint::host(host_->available).less(Footprint::host(reserve_ + untouched())).host();
}

Footprint Ledger::free() const {
  Footprint room = budget_.less(charged());
  if (const auto host = host_free()) room.at[kHost] = std::min(room.host(), *host);
  return room;
}

Footprint Ledger::overdrawn() const {
  Footprint over = charged().less(budget_);
  if (!host_) return over;
  const base::Bytes wanted = reserve_ + untouched();
  const base::Bytes short_of = wanted > host_->available ? wanted - host_->available : 0;
  over.at[kHost] = std::min(std::max(over.host(), short_of), charged().host());
  return over;
}

std::optional<base::Bytes> Ledger::other_services() const {
  if (!host_) return std::nullopt;
  return Footprint::host(host_->total).less(Footprint::host(host_->available + host_->ours)).host();
}

std::vector<Ledger::Row> Ledger::rows() const {
  std::vector<Row> rows;
  for (const auto& [id, account] : accounts_) {
    const Claim charged_claim = account.charged();
    for (const Charge charge : kAllCharges) {
      if (!charged_claim[charge].empty()) rows.push_back({id.text(), charge, charged_claim[charge], account.phase});
    }
  }
  if (const auto others = other_services(); others && *others > 0)
    rows.push_back({"other services", Charge::other_services, Footprint::host(*others)});
  if (reserve_ > 0) rows.push_back({"reserve", Charge::reserve, Footprint::host(reserve_)});
  return rows;
}

base::Bytes prompt_cache_allowance(base::Bytes wished, base::Bytes free_after_load, double share, base::Bytes least) {
  const auto most = static_cast<base::Bytes>(static_cast<double>(free_after_load) * share);
  const base::Bytes allowed = std::min(wished, most);
  return allowed < least ? 0 : allowed;
}

}  // namespace hearth::policy
