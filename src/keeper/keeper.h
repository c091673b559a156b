#pragma once
// The one owner of what is known of every model while the server runs: its engine, who uses it, what was measured of
// it.
//
// Thread: the I/O thread. Blocking work (store, page cache) runs on the pool. Must outlive its leases; stop() before it
// goes.
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "artifact/store.h"
#include "base/clock.h"
#include "domain/asker.h"
#include "domain/event.h"
#include "domain/model.h"
#include "domain/verification.h"
#include "keeper/claim.h"
#include "keeper/cooler.h"
#include "keeper/estimate_db.h"
#include "keeper/layer_changer.h"
#include "keeper/lease.h"
#include "keeper/processors.h"
#include "keeper/resident.h"
#include "keeper/room.h"
#include "keeper/warmer.h"
#include "rt/blocking_pool.h"
#include "rt/task_group.h"
#include "sys/pages.h"
#include "timeline/history_db.h"

namespace hearth::keeper {

// How one model is to be served, as the composition root decides it.
struct Service {
  std::unique_ptr<engine::Supervisor> supervisor;
  unsigned slots = 1;
  std::optional<std::uint64_t> context;   // tokens that one request may have, where that is known
  std::shared_ptr<PrefixSession> prefix;  // null: states of prompts are not kept
  // [prefix] exact, whose decisions the session makes: without one nothing of a prompt may be reused.
  bool reuses_nothing = false;
  Needs needs = {};  // what a load is expected to take, before it was measured
};

// What the configuration says of keeping one model.
struct KeepRule {
  domain::KeepAlive otherwise;  // for an asker who says nothing
  bool pinned = false;
  domain::ServiceClass service_class = domain::ServiceClass::interactive;
};

// What is warmed though nobody has asked.
struct WarmingRule {
  std::vector<policy::Schedule> schedules;
  bool learn = false;      // act on what was learnt of when models are used
  base::Bytes memory = 0;  // for what was loaded because of that and is not used yet, all models together
};

// What the keeper works with; all of it outlives the keeper.
struct KeeperParts {
  rt::asio::any_io_executor executor;
  rt::BlockingPool& pool;
  artifact::Store& store;
  const sys::ProcStats& stats;
  sys::Pages& pages;
  const sys::Memory& memory;
  const base::Clock& clock;
  // Makes the supervisor of a model that is asked for the first time. Errors: no engine is installed.
  std::function<rt::Task<base::Result<Service>>(artifact::StoredModel)> serve;
  // The folder of this model's packed weights; empty when it is not known (no engine yet) or there is none.
  std::function<std::string(const artifact::StoredModel&)> packed_folder;
  // What the configuration says of a model, into its view.
  std::function<void(domain::ModelView&)> configured;
  std::function<KeepRule(const domain::ModelId&)> keep_rule;
  std::function<void(domain::Event)> on_event;  // may be empty
  rt::TaskGroup::CrashHandler on_crash;
  // What is stored of the model's prompts; empty when it is not known or nothing is kept. May be left out.
  std::function<std::optional<domain::PrefixHeld>(const artifact::StoredModel&)> prefix_held = {};
  RoomConfig room = {};
  WarmingRule warming = {};
  const sys::TimeZone* zone = nullptr;  // null: UTC
  bool may_lower_niceness = false;      // sys::Processes::may_lower_niceness()
  EstimateDb* estimates = nullptr;      // where what loads took is kept; null: nowhere
};

class Keeper {
 public:
  explicit Keeper(KeeperParts parts);
  ~Keeper();

  // What gathers from a history what this keeper can learn.
  [[nodiscard]] Learner learner() const { return {demands_.calendar(), demands_.config()}; }
  // A history is being read, and remember() will come, once, at any time. REQUIRES: nothing was asked of this keeper
  // yet.
  void await_past() { demands_.await_past(); }
  // What earlier runs saw.
  void remember(Lessons lessons);
  // What loads of earlier runs took, learnt longest ago first. REQUIRES: nothing was asked of this keeper yet.
  void remember(const std::vector<policy::Learnt>& estimates);

  // Waits until an engine with this model can take a request: for its memory (Room::admit), then for its start. Cancel:
  // the caller leaves, a start under way goes on, and the model is then kept as the caller wished.
  // Errors: model_not_found, corrupt (its file), engine_failed (no engine); does_not_fit, pinned_conflict, queue_full,
  // loading as Room::admit; engine_failed and cancelled as Supervisor::ensure_ready.
  [[nodiscard]] rt::Task<base::Result<std::unique_ptr<Lease>>> acquire(domain::ModelId id, domain::Asker asker);

  [[nodiscard]] rt::Task<base::Result<std::vector<domain::ModelView>>> list();
  // Errors: model_not_found, corrupt.
  [[nodiscard]] rt::Task<base::Result<domain::ModelView>> find(domain::ModelId id);
  // Stops an idle engine and removes the model. Errors: model_not_found; in_use while a request is running or a start
  // is under way; timeout when the engine would not die.
  [[nodiscard]] rt::Task<base::Status> remove(domain::ModelId id);

  // Ends every wish to keep the model, and stops its engine: at once when it is idle, else when its requests are done;
  // then without waiting for that. A model that is not loaded is no error.
  // Errors: model_not_found, corrupt; pinned_conflict; timeout when the engine would not die.
  [[nodiscard]] rt::Task<base::Status> unload(domain::ModelId id, domain::Asker asker);

  // Changes one layer on purpose; without a layer, the weights. Warming starts the engine where that is needed, and
  // keeps the model as the asker wishes; cooling ends every wish to keep it.
  // Errors: model_not_found; unsupported (which layers can be changed here); those of LayerChanger and of acquire.
  [[nodiscard]] rt::Task<WorkResult> change(domain::ModelId id, domain::LayerAction action,
                                            std::optional<domain::Layer> layer, domain::Asker asker);

  // What would happen if this asker asked for it now; starts nothing. Errors: model_not_found, corrupt, not_found.
  [[nodiscard]] rt::Task<base::Result<domain::LoadPlan>> plan(domain::ModelId id, domain::Asker asker);
  // Who has how much memory.
  [[nodiscard]] domain::MemoryPlan memory_plan() { return room_.memory_plan(); }
  [[nodiscard]] Room& room() { return room_; }

  // Cools what is due now; the keeper does so by itself when the time comes.
  [[nodiscard]] rt::Task<void> cool_what_is_due() { return cooler_.cool_what_is_due(); }

  // Warms what is expected to be used now; the keeper does so by itself every 15 seconds.
  [[nodiscard]] rt::Task<void> warm_what_is_expected() { return warmer_.look(); }

  // Something was declared for this model: it is looked after when it is idle next, which may be now.
  void settle_soon(const domain::ModelId& id);
  // Reads all that is kept of a model on disk. What is damaged is set aside: the model's file (its entry with it), or
  // packed weights. Errors: model_not_found, io, cancelled.
  [[nodiscard]] rt::Task<base::Result<domain::Verification>> verify(domain::ModelId id);
  // Whose engine runs or is starting.
  [[nodiscard]] std::set<domain::ModelId> with_engine() const;

  // The longest that a request which still waits for an engine has waited.
  [[nodiscard]] std::optional<base::Duration> oldest_wait() const;
  // Stops every engine, for good. Leases that are left lose theirs.
  [[nodiscard]] rt::Task<void> stop();

 private:
  [[nodiscard]] rt::Task<base::Result<std::shared_ptr<Resident>>> resident_for(domain::ModelId id);
  [[nodiscard]] rt::Task<base::Result<artifact::StoredModel>> stored(domain::ModelId id);
  [[nodiscard]] rt::Task<domain::ModelView> view_of(artifact::StoredModel model);
  [[nodiscard]] rt::Task<WorkResult> change_weights(domain::ModelId id, domain::LayerAction action,
                                                    domain::Asker asker);
  [[nodiscard]] rt::Task<WorkResult> lock_weights(std::shared_ptr<Resident> resident, bool lock);
  void keep_for(const domain::ModelId& id, const domain::Asker& asker);
  [[nodiscard]] bool is_pinned(const domain::ModelId& id) const;
  [[nodiscard]] rt::Task<void> hold_until_started(std::shared_ptr<Resident> resident, std::shared_ptr<Claim> claim);
  [[nodiscard]] rt::Task<WorkResult> warm(domain::ModelId id, domain::Layer layer, domain::Asker asker);
  [[nodiscard]] rt::Task<WorkResult> cool(domain::ModelId id, domain::Layer layer);
  [[nodiscard]] rt::Task<WorkResult> start_engine(domain::ModelId id, domain::Asker asker);
  [[nodiscard]] rt::Task<WorkResult> stop_engine(domain::ModelId id);
  [[nodiscard]] rt::Task<WorkResult> wake_engine(domain::ModelId id, std::shared_ptr<Resident> resident,
                                                 domain::Asker asker);
  [[nodiscard]] rt::Task<std::vector<policy::Quantisation>> smaller_of(domain::ModelId id, std::string family);
  [[nodiscard]] std::shared_ptr<Claim> claim_for(const domain::ModelId& id, std::shared_ptr<Resident> resident,
                                                 const domain::Asker& asker);
  void keep_estimate(const policy::Learnt& learnt);
  [[nodiscard]] rt::Task<void> write_estimate(policy::Learnt learnt);
  [[nodiscard]] base::Status remove_from_store(const domain::ModelId& id);        // blocking
  void remove_packed(const artifact::Digest& digest, const std::string& folder);  // blocking
  [[nodiscard]] rt::Task<void> take_down(domain::ModelId id);
  [[nodiscard]] rt::Task<void> forget_what_is_gone();
  [[nodiscard]] Room::Parts room_parts();
  [[nodiscard]] Warmer::Parts warmer_parts();
  [[nodiscard]] rt::Task<std::vector<domain::ModelId>> stored_ids();
  [[nodiscard]] rt::Task<base::Status> bring_up(domain::ModelId id, std::shared_ptr<Resident> resident);
  void recall_times(const domain::ModelId& id, Resident& resident);
  void let_prefixes_work(const std::shared_ptr<Resident>& resident);
  [[nodiscard]] rt::Task<void> settle(domain::ModelId id, std::shared_ptr<Resident> resident);
  void note_ready(Resident& resident, const engine::Ready& ready);
  [[nodiscard]] rt::Task<void> measure_memory(domain::ModelId id);
  [[nodiscard]] base::Result<std::shared_ptr<Resident>> running(const domain::ModelId& id) const;
  // The event besides: woken.
  [[nodiscard]] rt::Task<WorkResult> wake(domain::ModelId id, std::shared_ptr<Resident> resident);
  [[nodiscard]] rt::Task<void> wake_beside(domain::ModelId id, std::shared_ptr<Resident> resident);
  [[nodiscard]] rt::Task<domain::LayerReadings> measure(artifact::StoredModel model);
  [[nodiscard]] std::shared_ptr<const domain::LayerReadings> readings_now(const domain::ModelId& id,
                                                                          Resident& resident);
  [[nodiscard]] rt::Task<void> stop_one(std::shared_ptr<Resident> resident);
  [[nodiscard]] std::optional<domain::PrefixHeld> prefix_of(const artifact::StoredModel& model) const;
  [[nodiscard]] rt::Task<WorkResult> warm_prefix(domain::ModelId id, domain::Asker asker);
  [[nodiscard]] rt::Task<WorkResult> cool_prefix(domain::ModelId id);
  [[nodiscard]] rt::Task<void> prefetch_beside(std::shared_ptr<Resident> resident);
  [[nodiscard]] rt::Task<void> save_prefixes(std::shared_ptr<Resident> resident);
  void measure_when_idle(const domain::ModelId& id, Resident& resident);
  [[nodiscard]] rt::Task<void> note_readings_when_idle(domain::ModelId id);
  [[nodiscard]] rt::Task<void> note_readings(domain::ModelId id, std::shared_ptr<domain::LayerReadings> into);

  KeeperParts parts_;
  CounterSampler counters_;
  HostSampler host_;
  LayerChanger changer_;
  Residents residents_;
  std::map<domain::ModelId, PastTimes> past_times_;  // for residents to come
  Demands demands_;
  Expectations expectations_;
  Room room_;
  Processors processors_;
  Cooler cooler_;
  Warmer warmer_;
  std::multiset<base::Mono> waiting_since_;
  rt::TaskGroup tasks_;
};

}  // namespace hearth::keeper
