#include "keeper/keeper.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>

#include "artifact/layers.h"
#include "base/scope_exit.h"
#include "engine/packed_files.h"
#include "engine/tier_link.h"
#include "keeper/keep_view.h"
#include "rt/deadline.h"

namespace hearth::keeper {

using base::ErrorCode;
using domain::Layer;
using domain::ModelState;
using domain::Warmth;

namespace {

// Measuring walks through the page cache and the engine's mappings: some 10 ms of a processor for a model of 1 GB,
// which a request that runs beside it would feel. So it is done when a model has been idle for a moment, and beside a
// request only when that was too long ago to be told as "before".
constexpr std::chrono::seconds kReadingsFresh{60};
constexpr std::chrono::seconds kIdleBeforeMeasuring{1};

constexpr std::chrono::seconds kSavingBeforeAnEnd{10};
// Prefix work that gave way to whoever wanted the memory.
constexpr std::chrono::seconds kBeforeGoingOn{10};

bool has_process(ModelState state) {
  return state == ModelState::ready || state == ModelState::busy || state == ModelState::hibernated;
}

base::Error cannot_change(domain::LayerAction action, Layer layer) {
  return {ErrorCode::unsupported,
          fmt::format("layer {} cannot be changed with {}; pages, process, weights and prefix can", name_of(layer),
                      name_of(action))};
}

base::Error no_prefixes() {
  return {ErrorCode::unsupported, "prefixes are not kept here; see [prefix] enabled and the server's log"};
}

// Bytes of the published files in a folder of packed weights (docs/packed-format.md).
base::Bytes packed_bytes(const std::string& folder) {
  base::Bytes bytes = 0;
  std::error_code ignored;  // a folder that is not there holds nothing
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".seg") bytes += entry.file_size(ignored);
  }
  return bytes;
}

// A group must not go before its tasks, and what blocks a thread (a slow disk) cannot be cancelled.
rt::Task<void> wait_for_end(rt::TaskGroup& group, base::Duration patience, const char* what) {
  bool ended = co_await group.join(patience);
  while (!ended) {
    spdlog::warn("{} takes longer than {:.0f} s", what, base::to_ms(patience) / 1000);
    group.cancel_all();
    ended = co_await group.join(patience);
  }
}

std::string in_use_again(const domain::ModelId& id) {
  return fmt::format("model {} was asked for meanwhile; wait until its requests are done", id.text());
}

Lease::Paid paid_by(const Resident& resident, const engine::Ready& ready) {
  if (ready.start) return Lease::Paid::start;
  if (resident.pages_kept()) return Lease::Paid::wake_of_kept_pages;
  return resident.hibernated() || resident.waking ? Lease::Paid::wake : Lease::Paid::nothing;
}

}  // namespace

Keeper::Keeper(KeeperParts parts)
    : parts_(std::move(parts)),
      counters_(parts_.stats, parts_.memory, parts_.clock),
      host_(parts_.memory, parts_.clock),
      changer_(parts_.pool, parts_.pages, parts_.clock),
      demands_({parts_.clock, parts_.zone}, parts_.room.policy.demand),
      expectations_(demands_, parts_.warming.schedules, parts_.warming.learn),
      room_(room_parts()),
      processors_({.executor = parts_.executor,
                   .clock = parts_.clock,
                   .residents = residents_,
                   .may_lower_niceness = parts_.may_lower_niceness,
                   .class_of = [this](const domain::ModelId& id) { return parts_.keep_rule(id).service_class; }}),
      cooler_({.executor = parts_.executor,
               .clock = parts_.clock,
               .residents = residents_,
               .changer = changer_,
               .pinned = [this](const domain::ModelId& id) { return is_pinned(id); },
               .must_serve =
                   [this](const domain::ModelId& id, const Resident& resident) {
                     const auto promise = room_.books().cold_promise(id, resident);
                     return promise.keep_warm && promise.kept && promise.floor == policy::Rung::serving;
                   },
               .on_event = parts_.on_event}),
      warmer_(warmer_parts()),
      tasks_(parts_.executor, parts_.on_crash) {
  tasks_.spawn(cooler_.run());
  tasks_.spawn(room_.run());
  tasks_.spawn(processors_.run());
  tasks_.spawn(warmer_.run());
}

Keeper::~Keeper() = default;

Room::Parts Keeper::room_parts() {
  return {.executor = parts_.executor,
          .clock = parts_.clock,
          .memory = parts_.memory,
          .stats = parts_.stats,
          .residents = residents_,
          .demands = demands_,
          .hibernate = [this](std::shared_ptr<Resident> resident,
                              Pages pages) { return changer_.hibernate(std::move(resident), pages); },
          .can_hibernate =
              [](const Resident& resident) {
                const auto link = resident.supervisor().tier();
                return link && link->has(engine::TierPower::kHibernate);
              },
          .pinned = [this](const domain::ModelId& id) { return is_pinned(id); },
          .class_of = [this](const domain::ModelId& id) { return parts_.keep_rule(id).service_class; },
          .smaller = [this](domain::ModelId id,
                            std::string family) { return smaller_of(std::move(id), std::move(family)); },
          .on_event = parts_.on_event,
          .on_crash = parts_.on_crash,
          .config = parts_.room,
          .on_learnt = [this](const policy::Learnt& learnt) { keep_estimate(learnt); }};
}

Warmer::Parts Keeper::warmer_parts() {
  return {.executor = parts_.executor,
          .clock = parts_.clock,
          .residents = residents_,
          .room = room_,
          .demands = demands_,
          .expectations = expectations_,
          .memory = parts_.warming.memory,
          .class_of = [this](const domain::ModelId& id) { return parts_.keep_rule(id).service_class; },
          .stored = [this] { return stored_ids(); },
          .resident = [this](domain::ModelId id) { return resident_for(std::move(id)); },
          .bring_up = [this](domain::ModelId id,
                             std::shared_ptr<Resident> of) { return bring_up(std::move(id), std::move(of)); },
          .on_vote = [this] { cooler_.look_again(); },
          .on_event = parts_.on_event};
}

void Keeper::remember(Lessons lessons) {
  demands_.learn(std::move(lessons.demands));
  for (const auto& event : lessons.prewarms) {
    if (const auto id = domain::ModelId::parse(event.model.value_or(""))) expectations_.count_before(*id, event);
  }
  past_times_ = std::move(lessons.times);
  for (const auto& [id, resident] : residents_)
    recall_times(id, *resident);
  warmer_.look_soon();
}

void Keeper::recall_times(const domain::ModelId& id, Resident& resident) {
  if (const auto past = past_times_.extract(id)) resident.recall(past.mapped());
}

void Keeper::remember(const std::vector<policy::Learnt>& estimates) {
  for (const auto& learnt : estimates)
    room_.books().restore(learnt);
}

void Keeper::keep_estimate(const policy::Learnt& learnt) {
  if (parts_.estimates != nullptr) tasks_.spawn(write_estimate(learnt));
}

rt::Task<void> Keeper::write_estimate(policy::Learnt learnt) {
  const auto now = parts_.clock.wall();
  const auto written = co_await parts_.pool.run([&] { return parts_.estimates->write(learnt, now); });
  if (!written) spdlog::warn("keeping what {} was measured to take: {}", learnt.id.text(), written.error().message);
}

base::Status Keeper::remove_from_store(const domain::ModelId& id) {
  if (parts_.estimates != nullptr) {
    if (auto gone = parts_.estimates->forget(id); !gone)
      spdlog::warn("forgetting what {} was measured to take: {}", id.text(), gone.error().message);
  }
  return parts_.store.remove(id);
}

// Unless another name has the same file.
void Keeper::remove_packed(const artifact::Digest& digest, const std::string& folder) {
  const auto others = parts_.store.list();
  if (folder.empty() || std::ranges::any_of(others, [&](const auto& one) { return one.manifest.digest == digest; }))
    return;
  if (auto gone = engine::remove_packed_of(std::filesystem::path(folder).parent_path(), digest.text()); !gone)
    spdlog::warn("removing packed weights: {}", gone.error().message);
}

rt::Task<std::vector<domain::ModelId>> Keeper::stored_ids() {
  const auto models = co_await parts_.pool.run([this] { return parts_.store.list(); });
  std::vector<domain::ModelId> ids;
  for (const auto& model : models)
    ids.push_back(model.manifest.id);
  co_return ids;
}

// As a request would, but for the request.
rt::Task<base::Status> Keeper::bring_up(domain::ModelId id, std::shared_ptr<Resident> resident) {
  const Work work(processors_, id, resident, std::nullopt);
  if (resident->hibernated()) {
    auto woken = co_await wake(id, resident);
    if (!woken) co_return base::pass(woken);
    co_return base::Status{};
  }
  if (resident->prefix && !has_process(resident->state())) tasks_.spawn(prefetch_beside(resident));
  auto ready = co_await resident->supervisor().ensure_ready();
  if (!ready) co_return base::pass(ready);
  note_ready(*resident, *ready);
  measure_when_idle(id, *resident);
  co_return base::Status{};
}

void Keeper::note_ready(Resident& resident, const engine::Ready& ready) {
  if (resident.prefix) resident.prefix->attach(ready.socket_path, ready.generation);
  if (ready.start && ready.start->ready) resident.started_in(*ready.start->ready - ready.start->spawned);
}

// Whatever the store has of the same architecture and number of parameters, by what its file promises.
rt::Task<std::vector<policy::Quantisation>> Keeper::smaller_of(domain::ModelId id, std::string family) {
  std::vector<policy::Quantisation> found;
  if (family.empty()) co_return found;
  const auto models = co_await parts_.pool.run([this] { return parts_.store.list(); });
  for (const auto& model : models) {
    if (model.manifest.id == id || family_of(model.manifest) != family) continue;
    const Needs needs = needs_of(model.manifest, ServeShape{});
    found.push_back({model.manifest.id.text(), needs.prior.total()});
  }
  co_return found;
}

rt::Task<base::Result<artifact::StoredModel>> Keeper::stored(domain::ModelId id) {
  auto found = co_await parts_.pool.run([&] { return parts_.store.find(id); });
  if (!found && residents_.contains(id)) tasks_.spawn(forget_what_is_gone());
  co_return found;
}

rt::Task<base::Result<std::shared_ptr<Resident>>> Keeper::resident_for(domain::ModelId id) {
  if (const auto known = residents_.find(id); known != residents_.end()) co_return known->second;
  auto model = co_await stored(id);
  if (!model) co_return base::pass(model);
  auto service = co_await parts_.serve(std::move(*model));
  if (!service) co_return base::pass(service);
  // Somebody may have come first while we waited; theirs stays.
  const auto [place, fresh] = residents_.try_emplace(id);
  if (fresh) {
    place->second = std::make_shared<Resident>(std::move(service->supervisor), service->slots);
    place->second->context = service->context;
    place->second->needs = std::move(service->needs);
    place->second->prefix = std::move(service->prefix);
    place->second->reuses_nothing = service->reuses_nothing;
    let_prefixes_work(place->second);
    recall_times(id, *place->second);
    place->second->supervisor().on_settled([this] {
      room_.look_again();
      cooler_.look_again();
    });
  }
  co_return place->second;
}

// Its own work faults weights in again and keeps the engine from hibernating: not while others want the memory.
void Keeper::let_prefixes_work(const std::shared_ptr<Resident>& resident) {
  if (!resident->prefix) return;
  resident->prefix->work_only_while([this, of = std::weak_ptr(resident)] {
    const std::shared_ptr<Resident> owner = of.lock();
    return owner && !owner->cooling && !owner->hibernated() && !room_.memory_is_wanted();
  });
}

rt::Task<base::Result<std::unique_ptr<Lease>>> Keeper::acquire(domain::ModelId id, domain::Asker asker) {
  const auto waiting = waiting_since_.insert(parts_.clock.now());
  const base::ScopeExit no_longer([&] { waiting_since_.erase(waiting); });
  auto resident = co_await resident_for(id);
  if (!resident) co_return base::pass(resident);
  auto claim = claim_for(id, *resident, asker);
  auto before = readings_now(id, **resident);
  domain::ColdStart cold = room_.books().cold_start(id, **resident);
  auto admission = co_await room_.admit(id, *resident, asker.service_class);
  if (!admission) co_return base::pass(admission);
  // A start goes on when its asker leaves; the wish to keep what comes of it counts from its end.
  if ((*resident)->state() == ModelState::starting || !has_process((*resident)->state()))
    tasks_.spawn(hold_until_started(*resident, claim));
  if ((*resident)->prefix && !has_process((*resident)->state())) tasks_.spawn(prefetch_beside(*resident));
  auto ready = co_await (*resident)->supervisor().ensure_ready();
  if (!ready) co_return base::pass(ready);
  note_ready(**resident, *ready);
  const Lease::Surroundings surroundings{parts_.clock, counters_, host_};
  const bool wakes = (*resident)->hibernated();
  const Lease::Paid paid = paid_by(**resident, *ready);
  (*resident)->set_hibernated(false);
  if (wakes) tasks_.spawn(wake_beside(id, *resident));
  const auto on_end = [this, id](Resident& left) {
    if (left.in_flight() == 0) measure_when_idle(id, left);
  };
  auto lease = std::make_unique<Lease>(std::move(*resident), std::move(*ready), std::move(before), surroundings,
                                       std::move(claim), on_end);
  lease->set_class(room_.class_of(id, asker.service_class));
  lease->set_cold_start(std::move(cold), paid);
  if (wakes) lease->note_sent();  // what the wake reads counts
  co_return lease;
}

std::shared_ptr<Claim> Keeper::claim_for(const domain::ModelId& id, std::shared_ptr<Resident> resident,
                                         const domain::Asker& asker) {
  std::optional<policy::KeepWish> wish;
  if (asker.keep_alive) wish = wish_of(*asker.keep_alive);
  resident->votes.request_began(asker.owner, wish, wish_of(parts_.keep_rule(id).otherwise), parts_.clock.now());
  room_.books().use_began(id);
  warmer_.used(id);
  if (asker.keep_alive && asker.keep_alive->is_unload()) expectations_.told_to_go(id);
  auto work = std::make_unique<Work>(processors_, id, resident, room_.class_of(id, asker.service_class));
  return std::make_shared<Claim>(std::move(resident), asker.owner, std::move(work), parts_.clock, [this, id] {
    room_.books().use_ended(id);
    room_.look_again();
    cooler_.look_again();
  });
}

rt::Task<void> Keeper::hold_until_started(std::shared_ptr<Resident> resident, std::shared_ptr<Claim> claim) {
  co_await rt::asio::post(parts_.executor, rt::asio::use_awaitable);  // lets the start begin
  // Attaches to it, and begins none: it may have failed already.
  if (resident->state() != ModelState::starting) co_return;
  const auto ready = co_await resident->supervisor().ensure_ready();
  if (!ready) spdlog::debug("a start that was waited for failed: {}", ready.error().message);
  claim.reset();
}

bool Keeper::is_pinned(const domain::ModelId& id) const {
  const auto known = residents_.find(id);
  return parts_.keep_rule(id).pinned || (known != residents_.end() && known->second->pinned);
}

rt::Task<base::Status> Keeper::unload(domain::ModelId id, domain::Asker asker) {
  auto model = co_await stored(id);
  if (!model) co_return base::pass(model);
  if (is_pinned(id)) {
    co_return base::fail(ErrorCode::pinned_conflict,
                         fmt::format("model {0} is pinned and stays; unpin it with `hearth unpin {0}`, or in the "
                                     "configuration",
                                     id.text()));
  }
  expectations_.told_to_go(id);
  const auto known = residents_.find(id);
  if (known == residents_.end()) co_return base::Status{};
  const std::shared_ptr<Resident> resident = known->second;
  resident->votes.wish(asker.owner, policy::KeepSource::api, policy::KeepWish::unload(), parts_.clock.now());
  // What is awaited goes when that ends, and what starts when it is up.
  if (resident->awaited() || resident->state() == ModelState::starting) co_return base::Status{};
  resident->votes.clear();
  if (!has_process(resident->state())) co_return base::Status{};
  co_return co_await cooler_.stop(id, resident, "told to unload by " + asker.owner);
}

// The layers as they are now. What is not fresh is measured beside the request, never in its way; the pointer is filled
// in by the time the request ends, or stays unknown.
std::shared_ptr<const domain::LayerReadings> Keeper::readings_now(const domain::ModelId& id, Resident& resident) {
  auto readings = std::make_shared<domain::LayerReadings>();
  // A start is long enough to measure beside it.
  const bool fresh =
      has_process(resident.state()) && resident.readings && parts_.clock.now() - resident.readings->at < kReadingsFresh;
  if (fresh) *readings = resident.readings->layers;
  at(*readings, Layer::process).warmth = has_process(resident.state()) ? Warmth::warm : Warmth::cold;
  if (!fresh) tasks_.spawn(note_readings(id, readings));
  return readings;
}

void Keeper::settle_soon(const domain::ModelId& id) {
  const auto known = residents_.find(id);
  if (known != residents_.end() && known->second->state() == ModelState::ready) measure_when_idle(id, *known->second);
}

void Keeper::measure_when_idle(const domain::ModelId& id, Resident& resident) {
  if (resident.measuring_soon) return;
  resident.measuring_soon = true;
  tasks_.spawn(note_readings_when_idle(id));
}

rt::Task<void> Keeper::note_readings_when_idle(domain::ModelId id) {
  const bool waited = co_await rt::pause(kIdleBeforeMeasuring);
  const auto known = residents_.find(id);
  if (known == residents_.end()) co_return;
  known->second->measuring_soon = false;
  if (!waited || known->second->in_flight() > 0) co_return;
  auto readings = std::make_shared<domain::LayerReadings>();
  const std::shared_ptr<Resident> resident = known->second;
  at(*readings, Layer::process).warmth = has_process(resident->state()) ? Warmth::warm : Warmth::cold;
  if (resident->prefix && resident->state() == ModelState::ready) co_await settle(id, resident);
  if (resident->in_flight() > 0) co_return;  // a request came meanwhile; its end brings us here again
  co_await note_readings(id, std::move(readings));
  co_await measure_memory(id);
  if (!resident->prefix || !resident->prefix->gave_way_to_others()) co_return;
  const bool paused = co_await rt::pause(kBeforeGoingOn);
  if (paused) settle_soon(id);
}

rt::Task<void> Keeper::settle(domain::ModelId id, std::shared_ptr<Resident> resident) {
  const Work work(processors_, id, resident, std::nullopt);
  co_await resident->prefix->settle(false);
}

// What the kernel says that the engine holds, into the books.
rt::Task<void> Keeper::measure_memory(domain::ModelId id) {
  const auto known = residents_.find(id);
  if (known == residents_.end()) co_return;
  const std::shared_ptr<Resident> resident = known->second;
  const auto pid = resident->supervisor().pid();
  if (!pid) co_return;
  const auto memory = co_await parts_.pool.run([&] { return parts_.stats.memory(*pid); });
  if (memory && resident->supervisor().pid() == pid) room_.books().measured(id, *resident, *memory);
}

rt::Task<void> Keeper::note_readings(domain::ModelId id, std::shared_ptr<domain::LayerReadings> into) {
  const auto process = at(*into, Layer::process);
  auto model = co_await stored(id);
  if (!model) co_return;  // removed meanwhile: the request's own error says so
  *into = co_await measure(std::move(*model));
  at(*into, Layer::process) = process;
  if (const auto resident = residents_.find(id); resident != residents_.end()) {
    resident->second->readings = Resident::Readings{parts_.clock.now(), *into};
  }
}

rt::Task<domain::LayerReadings> Keeper::measure(artifact::StoredModel model) {
  domain::LayerReadings readings;
  at(readings, Layer::artifact) = artifact::reading_of(model).layer;
  const auto pages = co_await parts_.pool.run([&] { return parts_.pages.residency(model.path); });
  if (pages) at(readings, Layer::pages) = domain::reading_of(pages->resident, pages->total);
  const auto resident = residents_.find(model.manifest.id);
  const bool running = resident != residents_.end() && has_process(resident->second->state());
  at(readings, Layer::process).warmth = running ? Warmth::warm : Warmth::cold;
  // Without a process nothing of the weights is in memory; with one, only the tier library can tell how much is.
  if (!running) at(readings, Layer::weights) = domain::reading_of(0, model.manifest.bytes);
  if (running) at(readings, Layer::weights) = co_await changer_.measure_weights(resident->second);
  if (const std::string folder = parts_.packed_folder(model); !folder.empty()) {
    const base::Bytes bytes = co_await parts_.pool.run([&] { return packed_bytes(folder); });
    at(readings, Layer::packed) =
        domain::LayerReading{.warmth = bytes > 0 ? Warmth::warm : Warmth::cold, .bytes = bytes};
  }
  if (const auto held = prefix_of(model)) {
    const bool any = held->tokens_disk + held->tokens_memory > 0;
    at(readings, Layer::prefix) =
        domain::LayerReading{.warmth = any ? Warmth::warm : Warmth::cold, .bytes = held->bytes_disk};
  }
  co_return readings;
}

rt::Task<domain::ModelView> Keeper::view_of(artifact::StoredModel model) {
  const artifact::Manifest& manifest = model.manifest;
  domain::ModelView view{.id = manifest.id,
                         .engine = "llama-server",
                         .layers = {},
                         .artifact_verified = model.verified,
                         .ready_basis = "not started since the server came up",
                         .digest = manifest.digest.text(),
                         .imported_at = base::Wall(std::chrono::milliseconds(manifest.imported_at_ms)),
                         .architecture = manifest.gguf.architecture,
                         .quantisation = manifest.gguf.quantisation,
                         .parameters = manifest.gguf.parameters,
                         .context_length = manifest.gguf.context_length};
  view.layers = co_await measure(model);
  view.prefix = prefix_of(model);
  parts_.configured(view);
  if (const std::string folder = parts_.packed_folder(model); !folder.empty()) {
    view.packed_key = std::filesystem::path(folder).filename();
  }
  view.expected =
      expectations_.describe(view.id, view.service_class, parts_.room.policy.eviction.horizon, parts_.clock.wall());
  const auto resident = residents_.find(view.id);
  if (resident == residents_.end()) {
    view.keep = keep_of({}, view.pinned, parts_.clock.now(), parts_.clock.wall());
    co_return view;
  }
  resident->second->describe(view);
  room_.describe(view.id, *resident->second, view);
  view.pinned = view.pinned || resident->second->pinned;
  view.keep = keep_of(resident->second->votes, view.pinned, parts_.clock.now(), parts_.clock.wall());
  if (const auto start = resident->second->supervisor().last_start(); !view.ready_in_ms && start && start->ready) {
    view.ready_in_ms = base::to_ms(*start->ready - start->spawned);
    view.ready_basis = "its last start";
  }
  if (view.pid) {
    const auto memory = co_await parts_.pool.run([&] { return parts_.stats.memory(*view.pid); });
    if (memory) view.memory_measured = memory->proportional;
  }
  co_return view;
}

rt::Task<base::Result<std::vector<domain::ModelView>>> Keeper::list() {
  const auto models = co_await parts_.pool.run([this] { return parts_.store.list(); });
  std::vector<domain::ModelView> views;
  for (const auto& model : models)
    views.push_back(co_await view_of(model));
  co_return views;
}

rt::Task<base::Result<domain::ModelView>> Keeper::find(domain::ModelId id) {
  auto model = co_await stored(id);
  if (!model) co_return base::pass(model);
  co_return co_await view_of(std::move(*model));
}

rt::Task<base::Status> Keeper::remove(domain::ModelId id) {
  const auto model = co_await stored(id);
  const std::string packed = model ? parts_.packed_folder(*model) : std::string();
  if (const auto known = residents_.find(id); known != residents_.end()) {
    const std::shared_ptr<Resident> resident = known->second;
    const ModelState state = resident->state();
    if (resident->in_flight() > 0 || state == ModelState::starting) {
      co_return base::fail(ErrorCode::in_use,
                           fmt::format("model {} is {}; wait until its requests are done", id.text(), name_of(state)));
    }
    co_await save_prefixes(resident);
    if (resident->awaited()) co_return base::fail(ErrorCode::in_use, in_use_again(id));
    if (auto stopped = co_await resident->supervisor().shut_down(); !stopped) co_return stopped;
  }
  // Whoever asks meanwhile finds an engine that starts no more, and nothing new is made of a file that goes.
  auto removed = co_await parts_.pool.run([&] { return remove_from_store(id); });
  co_await take_down(id);
  if (removed && model) {
    co_await parts_.pool.run([&] {
      remove_packed(model->manifest.digest, packed);
      return true;
    });
  }
  co_return removed;
}

// Whoever uses it. One that does not end stays, to be told again.
rt::Task<void> Keeper::take_down(domain::ModelId id) {
  if (const auto known = residents_.find(id); known != residents_.end()) {
    const std::shared_ptr<Resident> resident = known->second;
    if (auto stopped = co_await resident->supervisor().shut_down(); !stopped) {
      spdlog::error("{}, which is no longer in the store: {}", id.text(), stopped.error().message);
      co_return;
    }
  }
  residents_.erase(id);
  expectations_.forget(id);
  room_.books().forget(id);
  room_.look_again();
}

// Those whose file was found damaged (whoever looked at it), and others that have the same file.
rt::Task<void> Keeper::forget_what_is_gone() {
  const auto stored = co_await stored_ids();
  const Residents residents = residents_;  // the map changes
  for (const auto& [id, resident] : residents) {
    if (std::ranges::find(stored, id) == stored.end()) co_await take_down(id);
  }
}

rt::Task<WorkResult> Keeper::wake(domain::ModelId id, std::shared_ptr<Resident> resident) {
  auto work = co_await changer_.wake(std::move(resident));
  if (!work || !parts_.on_event) co_return work;
  domain::Event event;
  event.at = parts_.clock.wall();
  event.what = "woken";
  event.model = id.text();
  event.layer = Layer::weights;
  event.bytes = work->bytes;
  event.why = fmt::format("its weights came back in {:.2f} s", work->ms / 1000);
  parts_.on_event(std::move(event));
  co_return work;
}

rt::Task<void> Keeper::wake_beside(domain::ModelId id, std::shared_ptr<Resident> resident) {
  if (auto woken = co_await wake(std::move(id), std::move(resident)); !woken)
    spdlog::warn("waking beside a request: {}", woken.error().message);
}

base::Result<std::shared_ptr<Resident>> Keeper::running(const domain::ModelId& id) const {
  const auto known = residents_.find(id);
  if (known != residents_.end() && has_process(known->second->state())) return known->second;
  return base::fail(ErrorCode::loading, fmt::format("model {} is not loaded; warm it first", id.text()));
}

rt::Task<WorkResult> Keeper::change(domain::ModelId id, domain::LayerAction action, std::optional<Layer> layer,
                                    domain::Asker asker) {
  using enum domain::LayerAction;
  const Layer which = layer.value_or(Layer::weights);
  // What was measured before the change tells nothing of after it.
  const base::ScopeExit forget([&] {
    if (const auto known = residents_.find(id); known != residents_.end()) known->second->readings.reset();
  });
  if (action == warm) co_return co_await this->warm(id, which, asker);
  if (action == cool) co_return co_await this->cool(id, which);
  if (which != Layer::weights) co_return std::unexpected(cannot_change(action, which));
  co_return co_await change_weights(id, action, asker);
}

// Not a coroutine: GCC 12 destroys a task twice that a conditional expression chose inside co_await.
rt::Task<WorkResult> Keeper::lock_weights(std::shared_ptr<Resident> resident, bool lock) {
  return lock ? changer_.pin(std::move(resident)) : changer_.unpin(std::move(resident));
}

// Pins or unpins.
rt::Task<WorkResult> Keeper::change_weights(domain::ModelId id, domain::LayerAction action, domain::Asker asker) {
  const bool pin = action == domain::LayerAction::pin;
  if (pin) {
    if (auto started = co_await start_engine(id, asker); !started) co_return started;
  }
  auto resident = running(id);
  if (!resident) co_return base::pass(resident);
  auto work = co_await lock_weights(*resident, pin);
  if (work) (*resident)->pinned = pin;
  cooler_.look_again();
  co_return work;
}

rt::Task<WorkResult> Keeper::start_engine(domain::ModelId id, domain::Asker asker) {
  const base::Mono begun = parts_.clock.now();
  auto lease = co_await acquire(id, asker);
  if (!lease) co_return base::pass(lease);
  domain::LayerWork work{.ms = base::to_ms(parts_.clock.now() - begun), .bytes = std::nullopt};
  co_return work;
}

rt::Task<WorkResult> Keeper::stop_engine(domain::ModelId id) {
  const base::Mono begun = parts_.clock.now();
  auto resident = running(id);
  if (!resident) co_return base::pass(resident);
  co_await save_prefixes(*resident);
  if ((*resident)->in_flight() > 0) {
    co_return base::fail(ErrorCode::in_use, fmt::format("model {} is answering; stop it when it is done", id.text()));
  }
  (*resident)->votes.clear();
  if (auto stopped = co_await (*resident)->supervisor().stop(); !stopped) co_return base::pass(stopped);
  domain::LayerWork work{.ms = base::to_ms(parts_.clock.now() - begun), .bytes = std::nullopt};
  co_return work;
}

rt::Task<WorkResult> Keeper::warm(domain::ModelId id, Layer layer, domain::Asker asker) {
  auto model = co_await stored(id);
  if (!model) co_return base::pass(model);
  if (layer == Layer::pages) co_return co_await changer_.warm_pages(model->path);
  if (layer == Layer::prefix) co_return co_await warm_prefix(id, std::move(asker));
  if (layer != Layer::process && layer != Layer::weights)
    co_return std::unexpected(cannot_change(domain::LayerAction::warm, layer));
  const auto known = residents_.find(id);
  // A fresh engine has just read all its weights; only one that was up before can have lost them.
  const bool was_up = known != residents_.end() && has_process(known->second->state());
  if (!was_up || layer == Layer::process) {
    auto started = co_await start_engine(id, asker);
    if (started) keep_for(id, asker);
    co_return started;
  }
  keep_for(id, asker);
  std::shared_ptr<Resident> resident = known->second;
  co_return co_await wake_engine(id, std::move(resident), std::move(asker));
}

// Weights that left need their memory promised again before they come back.
rt::Task<WorkResult> Keeper::wake_engine(domain::ModelId id, std::shared_ptr<Resident> resident, domain::Asker asker) {
  const Work work(processors_, id, resident, room_.class_of(id, asker.service_class));
  auto admission = co_await room_.admit(id, resident, asker.service_class);
  if (!admission) co_return base::pass(admission);
  if (!resident->hibernated()) co_return co_await changer_.wake(resident);
  co_return co_await wake(id, resident);
}

rt::Task<base::Result<domain::LoadPlan>> Keeper::plan(domain::ModelId id, domain::Asker asker) {
  auto resident = co_await resident_for(id);
  if (!resident) co_return base::pass(resident);
  co_return co_await room_.plan(id, *resident, asker.service_class);
}

rt::Task<WorkResult> Keeper::cool(domain::ModelId id, Layer layer) {
  auto model = co_await stored(id);
  if (!model) co_return base::pass(model);
  if (layer == Layer::pages) co_return co_await changer_.cool_pages(model->path);
  if (layer == Layer::process || layer == Layer::weights) expectations_.told_to_go(id);
  if (layer == Layer::process) co_return co_await stop_engine(id);
  if (layer == Layer::prefix) co_return co_await cool_prefix(id);
  if (layer != Layer::weights) co_return std::unexpected(cannot_change(domain::LayerAction::cool, layer));
  auto resident = running(id);
  if (!resident) co_return base::pass(resident);
  co_await save_prefixes(*resident);
  auto work = co_await changer_.hibernate(*resident);
  if (work) (*resident)->votes.clear();
  co_return work;
}

void Keeper::keep_for(const domain::ModelId& id, const domain::Asker& asker) {
  const auto known = residents_.find(id);
  if (known == residents_.end()) return;
  const auto wish = wish_of(asker.keep_alive.value_or(parts_.keep_rule(id).otherwise));
  known->second->votes.wish(asker.owner, policy::KeepSource::api, wish, parts_.clock.now());
  cooler_.look_again();
}

rt::Task<void> Keeper::prefetch_beside(std::shared_ptr<Resident> resident) { co_await resident->prefix->prefetch(); }

// What passed since the last idle moment, while there is still an engine to ask.
rt::Task<void> Keeper::save_prefixes(std::shared_ptr<Resident> resident) {
  if (!resident->prefix || resident->state() != ModelState::ready) co_return;
  const bool saved = co_await rt::within(kSavingBeforeAnEnd, resident->prefix->settle(true));
  if (!saved) spdlog::warn("saving prompt states took longer than its time and was given up");
}

std::optional<domain::PrefixHeld> Keeper::prefix_of(const artifact::StoredModel& model) const {
  const auto resident = residents_.find(model.manifest.id);
  if (resident != residents_.end() && resident->second->prefix) {
    auto held = resident->second->prefix->held();
    if (!has_process(resident->second->state())) held.tokens_memory = 0;
    return held;
  }
  return parts_.prefix_held ? parts_.prefix_held(model) : std::nullopt;
}

rt::Task<WorkResult> Keeper::warm_prefix(domain::ModelId id, domain::Asker asker) {
  auto lease = co_await acquire(id, std::move(asker));
  if (!lease) co_return base::pass(lease);
  const auto resident = residents_.find(id);
  if (resident == residents_.end() || !resident->second->prefix) co_return std::unexpected(no_prefixes());
  const std::shared_ptr<PrefixSession> session = resident->second->prefix;
  co_return co_await session->warm();
}

rt::Task<WorkResult> Keeper::cool_prefix(domain::ModelId id) {
  auto resident = co_await resident_for(id);
  if (!resident) co_return base::pass(resident);
  const std::shared_ptr<PrefixSession> session = (*resident)->prefix;
  if (!session) co_return std::unexpected(no_prefixes());
  if (!has_process((*resident)->state())) session->detach();
  co_return co_await session->cool();
}

rt::Task<base::Result<domain::Verification>> Keeper::verify(domain::ModelId id) {
  const base::Mono begun = parts_.clock.now();
  auto model = co_await stored(id);
  if (!model) co_return base::pass(model);
  const std::string folder = parts_.packed_folder(*model);
  domain::Verification found;
  found.artifact_bytes = model->manifest.bytes;
  auto artifact = co_await parts_.pool.run_long([&](const rt::GoOn& go_on) {
    return parts_.store.verify(id, [&](base::Bytes, base::Bytes) { return go_on(); });
  });
  if (!artifact && artifact.error().code != ErrorCode::corrupt) co_return base::pass(artifact);
  if (!artifact) {
    found.artifact_fault = artifact.error().message;
    co_await forget_what_is_gone();
  }
  if (!folder.empty()) {
    auto packed =
        co_await parts_.pool.run_long([&](const rt::GoOn& go_on) { return engine::verify_packed(folder, go_on); });
    if (!packed) co_return base::pass(packed);
    found.packed_files = packed->files;
    found.packed_bytes = packed->bytes;
    found.packed_faults = std::move(packed->faults);
  }
  found.ms = base::to_ms(parts_.clock.now() - begun);
  co_return found;
}

std::set<domain::ModelId> Keeper::with_engine() const {
  std::set<domain::ModelId> ids;
  for (const auto& [id, resident] : residents_) {
    if (has_process(resident->state()) || resident->state() == ModelState::starting) ids.insert(id);
  }
  return ids;
}

std::optional<base::Duration> Keeper::oldest_wait() const {
  if (waiting_since_.empty()) return std::nullopt;
  return parts_.clock.now() - *waiting_since_.begin();
}

rt::Task<void> Keeper::stop_one(std::shared_ptr<Resident> resident) {
  co_await save_prefixes(resident);
  if (auto stopped = co_await resident->supervisor().shut_down(); !stopped)
    spdlog::error("{}", stopped.error().message);
}

rt::Task<void> Keeper::stop() {
  rt::TaskGroup stopping(parts_.executor, parts_.on_crash);
  for (auto& [id, resident] : residents_)
    stopping.spawn(stop_one(resident));
  co_await room_.stop();
  co_await wait_for_end(stopping, std::chrono::seconds(30), "stopping engines");
  tasks_.cancel_all();
  co_await wait_for_end(tasks_, std::chrono::seconds(5), "measuring layers");
}

}  // namespace hearth::keeper
