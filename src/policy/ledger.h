#pragma once
// Who has how much memory: bytes by owner and kind, in host memory and on each device. Promised before it is used.
//
// A value without locks or clock. An account opens when a load is admitted (starting) and closes when the process is
// gone (after stopping), so what is on its way counts. While an engine runs, what the kernel measures replaces what was
// estimated, except for what grows into its promise (KV, compute, prefix): of that the larger counts.
//
// Host memory that may be given out is the smallest of: the configured budget less what is promised; and what the
// kernel says is available, less the reserve and what is promised but not yet touched.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "domain/model_id.h"
#include "policy/footprint.h"

namespace hearth::policy {

enum class Charge { weights, locked, kv, compute, prefix, overhead, pages, other_services, reserve };
inline constexpr std::array kAllCharges = {Charge::weights, Charge::locked,         Charge::kv,
                                           Charge::compute, Charge::prefix,         Charge::overhead,
                                           Charge::pages,   Charge::other_services, Charge::reserve};
[[nodiscard]] std::string_view name_of(Charge charge);

// Bytes by kind. `locked` is the part of the weights that is pinned: told apart, not added.
struct Claim {
  std::array<Footprint, kAllCharges.size()> by{};

  [[nodiscard]] Footprint& operator[](Charge charge) { return by[static_cast<std::size_t>(charge)]; }
  [[nodiscard]] const Footprint& operator[](Charge charge) const { return by[static_cast<std::size_t>(charge)]; }
  [[nodiscard]] Footprint total() const;  // without `locked`
  friend bool operator==(const Claim&, const Claim&) = default;
};

enum class Phase { starting, running, stopping };
[[nodiscard]] std::string_view name_of(Phase phase);

struct Account {
  Phase phase = Phase::starting;
  Claim promised;
  std::optional<Claim> measured;

  // What counts against the budget.
  [[nodiscard]] Claim charged() const;
};

// What the kernel says of the whole machine.
struct HostMemory {
  base::Bytes total = 0;
  base::Bytes available = 0;                               // MemAvailable
  base::Bytes ours = 0;                                    // resident in our engines, as measured in the same moment
  std::optional<base::Bytes> locked_limit = std::nullopt;  // what may be locked; empty: no limit
};

class Ledger {
 public:
  // `budget`: what models may have together; a place that is 0 has no room. `reserve`: host memory left to the rest.
  Ledger(Footprint budget, base::Bytes reserve) : budget_(budget), reserve_(reserve) {}

  // Promises memory for a load. Errors: does_not_fit, with needed and available; in_use when it has an account.
  [[nodiscard]] base::Status admit(const domain::ModelId& id, const Claim& claim);
  // The same for an account that changes its size (context, rung). Growing may fail, shrinking never does.
  [[nodiscard]] base::Status resize(const domain::ModelId& id, const Claim& claim);
  // Charges what is there already, whether it fits or not; what is too much shows in overdrawn().
  void take(const domain::ModelId& id, const Claim& claim);
  void set_phase(const domain::ModelId& id, Phase phase);
  // What the kernel measured of this model's processes now. Only while it runs: during a start it would be too little.
  void measured(const domain::ModelId& id, const Claim& claim);
  void release(const domain::ModelId& id);

  void note_host(const HostMemory& host) { host_ = host; }
  void set_budget(Footprint budget) { budget_ = budget; }

  [[nodiscard]] const Account* find(const domain::ModelId& id) const;
  [[nodiscard]] const std::map<domain::ModelId, Account>& accounts() const { return accounts_; }
  [[nodiscard]] Footprint budget() const { return budget_; }
  [[nodiscard]] Footprint charged() const;
  [[nodiscard]] Footprint promised() const;
  [[nodiscard]] Footprint free() const;
  // The second half of that, whatever the budget says: what the kernel could give. Empty until it was asked.
  [[nodiscard]] std::optional<base::Bytes> host_free() const;
  // How much more is charged than there is: the budget shrank, or measurements exceed the promises.
  [[nodiscard]] Footprint overdrawn() const;
  // Memory of other services: used, and not ours. Empty until the kernel was asked.
  [[nodiscard]] std::optional<base::Bytes> other_services() const;

  struct Row {
    std::string owner;  // a model, "other services", "reserve"
    Charge charge = Charge::weights;
    Footprint bytes;
    std::optional<Phase> phase = std::nullopt;
  };
  [[nodiscard]] std::vector<Row> rows() const;  // only those with bytes

 private:
  [[nodiscard]] base::Bytes untouched() const;
  Footprint budget_;
  base::Bytes reserve_;
  std::optional<HostMemory> host_;
  std::map<domain::ModelId, Account> accounts_;
};

// What one engine may use as its own prompt cache in host memory: what it wishes, at most `share` of what is free after
// its load, and nothing below `least` (a cache too small to hold one prompt is waste).
[[nodiscard]] base::Bytes prompt_cache_allowance(base::Bytes wished, base::Bytes free_after_load, double share = 0.25,
                                                 base::Bytes least = 64 << 20);

}  // namespace hearth::policy
