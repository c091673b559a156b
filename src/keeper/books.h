#pragma once
// What each model holds of the machine's memory, and what it is expected to take: the ledger and the estimates, held
// together with what the engines really do.
//
// A model has an account from the moment a load is promised until its engine is gone. reconcile() closes the accounts
// of engines that ended by themselves and follows those that fell asleep, so nobody needs to tell; what holds memory
// without having asked (it cannot, short of a fault) is charged all the same.
//
// Thread: the I/O thread. Owned by the Room.
#include <functional>
#include <map>

#include "base/clock.h"
#include "domain/machine.h"
#include "keeper/demands.h"
#include "keeper/resident.h"
#include "policy/admission.h"
#include "policy/eviction.h"
#include "policy/ledger.h"
#include "sys/memory.h"
#include "sys/proc_stats.h"

namespace hearth::keeper {

class Books {
 public:
  struct Parts {
    const base::Clock& clock;
    const sys::Memory& memory;
    const sys::ProcStats& stats;
    const Residents& residents;
    std::function<bool(const domain::ModelId&)> pinned;
    std::function<domain::ServiceClass(const domain::ModelId&)> class_of;
    std::function<bool(const Resident&)> can_hibernate;
    base::Bytes budget;   // of host memory
    base::Bytes reserve;  // of host memory, for the rest of the machine
    Demands& demands;
    policy::AdmissionConfig admission;
    base::Duration horizon;                                     // how far ahead reuse counts
    std::function<void(const policy::Learnt&)> on_learnt = {};  // may be empty
  };
  explicit Books(Parts parts);

  // Accounts as the engines stand now, and host memory as the kernel tells it now.
  void reconcile();
  // Only the first half; for when an engine has become ready, or ended.
  void follow();

  // Somebody begins to use a model, or to wait for it, and ends.
  void use_began(const domain::ModelId& id);
  void use_ended(const domain::ModelId& id);

  // True when its memory is promised and it serves, or is about to.
  [[nodiscard]] bool on_its_way(const domain::ModelId& id, const Resident& resident) const;
  // Memory for a load from where it is, beyond what it holds.
  [[nodiscard]] policy::Footprint needed(const domain::ModelId& id, const Resident& resident) const;
  [[nodiscard]] policy::Footprint holds(const domain::ModelId& id) const;
  [[nodiscard]] policy::Estimate estimate(const domain::ModelId& id, const Resident& resident) const;
  // The kernel has room for that beside every page that our engines map, also those that were only kept.
  [[nodiscard]] bool fits_beside_pages(const policy::Footprint& needed) const;
  [[nodiscard]] base::Bytes pages_kept() const { return kept_; }
  // Promises that memory. Errors: does_not_fit, where less is free by now.
  [[nodiscard]] base::Status reserve(const domain::ModelId& id, const Resident& resident);
  // While a promise is held the account stays, engine or not.
  void promise(const domain::ModelId& id) { ++tenants_[id].promises; }
  void promise_over(const domain::ModelId& id) { --tenants_[id].promises; }
  [[nodiscard]] bool promised(const domain::ModelId& id) const;

  // Who waits for memory, by model: a claim of theirs is no use of the model yet.
  using Waiters = std::map<domain::ModelId, std::size_t>;
  // Every model with what it holds. `spare_waiting`: a model that somebody waits for counts as in use.
  [[nodiscard]] std::vector<policy::Held> held(const Waiters& waiters, bool spare_waiting) const;
  [[nodiscard]] policy::Ladder ladder(const domain::ModelId& id, const Resident& resident) const;

  // What its class is promised of a cold start, and the coldest rung from which that holds.
  [[nodiscard]] policy::ColdStartPromise cold_promise(const domain::ModelId& id, const Resident& resident) const;
  [[nodiscard]] domain::ColdStart cold_start(const domain::ModelId& id, const Resident& resident) const;
  // Seconds that its load or its wake takes from where it is now, measured or estimated.
  [[nodiscard]] double load_s(const domain::ModelId& id, const Resident& resident) const;

  // What an earlier run learnt.
  void restore(const policy::Learnt& learnt) { estimator_.restore(learnt); }
  // The kernel's word on a serving, idle engine.
  void measured(const domain::ModelId& id, const Resident& resident, const sys::MemoryRollup& memory);
  // Its engine said that it cannot hibernate.
  void cannot_hibernate(const domain::ModelId& id, const Resident& resident);
  // Its memory was taken for somebody else; `ageing`: the score at which it went.
  void evicted(const domain::ModelId& id, double ageing);
  // It was evicted and is loaded again: how many there were is thrashing's measure. False when it was not.
  [[nodiscard]] bool comes_back(const domain::ModelId& id);
  [[nodiscard]] std::uint64_t evictions(const domain::ModelId& id) const;
  void forget(const domain::ModelId& id);  // the model was removed

  [[nodiscard]] const policy::Ledger& ledger() const { return ledger_; }
  [[nodiscard]] double ageing() const { return ageing_; }
  [[nodiscard]] std::vector<domain::MemoryShare> shares() const;

 private:
  struct Tenant {
    std::size_t promises = 0;
    policy::Rung rung = policy::Rung::cold;
    base::Mono since = {};
    base::Mono last_used = {};
    double ageing = 0;  // L when it was last used
    std::uint64_t evictions = 0;
    bool away = false;                       // evicted, and not loaded since
    std::uint64_t ready_generation = 0;      // the last engine that was seen ready
    std::uint64_t cannot_hibernate_in = 0;   // generation
    std::uint64_t peak_generation = 0;       // of `peak` and `overhead`
    std::optional<policy::Claim> peak = {};  // the most that this engine was measured to take
    // What it took beyond what was expected before it had a prompt to remember.
    std::optional<base::Bytes> overhead = {};
  };

  void settle(const domain::ModelId& id, const Resident& resident);
  void settle_ready(const domain::ModelId& id, const Resident& resident, Tenant& tenant);
  void note_host();
  [[nodiscard]] policy::Held held_of(const domain::ModelId& id, const Resident& resident, std::size_t waiters,
                                     bool spare_waiting) const;
  [[nodiscard]] bool hibernates(const domain::ModelId& id, const Resident& resident) const;
  [[nodiscard]] policy::Rung rung_of(const domain::ModelId& id) const;

  Parts parts_;
  policy::Ledger ledger_;
  policy::Estimator estimator_;
  std::map<domain::ModelId, Tenant> tenants_;
  base::Bytes kept_ = 0;  // pages of hibernated weights that are still there
  double ageing_ = 0;
};

}  // namespace hearth::keeper
