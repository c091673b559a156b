#include "daemon/app.h"

#include <spdlog/spdlog.h>

#include <filesystem>

#include "base/text.h"
#include "daemon/run_folder.h"
#include "daemon/tier_library.h"
#include "engine/llama_starter.h"
#include "engine/packed_key.h"
#include "engine/reaper.h"
#include "engine/start_flags.h"
#include "rt/crash_log.h"

namespace hearth::daemon {
namespace {

// llama-server's own choice when it is not told (build 11669).
constexpr unsigned kDefaultSlots = 4;

rt::TaskGroup::CrashHandler log_crash() { return rt::log_crash_of("a task"); }

// Empty: engines run as stock.
std::string tier_library_for(const config::Config& config, const std::string& run_folder) {
  const std::string library = config.engine().tier ? find_tier_library() : std::string();
  if (library.empty()) return {};
  auto path = preloadable(library, run_folder);
  if (path) return std::move(*path);
  spdlog::warn("engines run as stock: {}", path.error().message);
  return {};
}

engine::LaunchSpec launch_spec(const domain::EngineInfo& engine, const artifact::StoredModel& model,
                               const config::ModelConfig& config, const std::string& exact_why) {
  auto tuned = engine::choose_start_flags({.engine_build = engine.build,
                                           .backends = engine.backends,
                                           .context_set = config.context.has_value(),
                                           .flags = config.flags});
  std::vector<std::string> reasons{std::move(tuned.why), exact_why};
  std::erase(reasons, "");
  return {.command = engine.command,
          .model_file = model.path,
          .alias = model.manifest.id.text(),
          .context = config.context,
          .slots = config.slots,
          .tuned = std::move(tuned.flags),
          .tuned_why = base::join(reasons, "; "),
          .flags = config.flags};
}

// What of the machine's memory models may have, where the configuration does not say.
keeper::RoomConfig room_config(const config::Config& all, const sys::Memory& memory) {
  constexpr base::Bytes kLeastReserve = 256U << 20;
  constexpr base::Bytes kMostReserve = base::Bytes{2} << 30;
  const config::MemoryConfig& config = all.memory();
  keeper::RoomConfig room;
  const auto total = memory.memory().total;
  room.reserve = config.reserve.value_or(std::clamp(total.value_or(0) / 20, kLeastReserve, kMostReserve));
  if (total) room.budget = *total - std::min(*total, room.reserve);
  room.budget = config.host_budget.value_or(room.budget);
  using enum domain::ServiceClass;
  for (const auto service_class : {voice, interactive, background})
    room.policy.admission.max_cold_ttft[policy::index_of(service_class)] = all.for_class(service_class).max_cold_ttft;
  return room;
}

keeper::WarmingRule warming_rule(const config::Config& config, const sys::Memory& memory) {
  const auto& residency = config.residency();
  return {.schedules = residency.schedules,
          .learn = residency.prewarm,
          .memory = residency.prewarm_memory.value_or(room_config(config, memory).budget / 2)};
}

// Smaller than the file says where that alone would not fit and nobody has chosen.
std::optional<std::uint32_t> context_for(const artifact::Manifest& manifest, const config::ModelConfig& config,
                                         const keeper::ServeShape& shape, base::Bytes budget) {
  if (config.context) return config.context;
  const auto fitting = keeper::context_that_fits(manifest, shape, budget);
  if (!fitting || fitting == keeper::needs_of(manifest, shape).options.context) return std::nullopt;
  spdlog::info("model {} gets {} tokens of context: more do not fit into {}", manifest.id.text(), *fitting,
               base::format_bytes(budget));
  return static_cast<std::uint32_t>(*fitting);
}

// The engine never gives a model more context than it was trained with, and splits it between slots where their number
// is set (build 11669).
std::optional<std::uint64_t> context_of_one_request(const config::ModelConfig& config,
                                                    const artifact::Manifest& manifest) {
  std::optional<std::uint64_t> context = manifest.gguf.context_length;
  if (config.context) context = std::min<std::uint64_t>(*config.context, context.value_or(*config.context));
  if (context && config.slots) *context /= *config.slots;
  return context;
}

}  // namespace

App::App(config::Config config) : config_(std::move(config)), tasks_(io_.get_executor(), log_crash()) {}
App::~App() = default;

base::Result<std::unique_ptr<App>> App::make(config::Config config) {
  std::unique_ptr<App> app(new App(std::move(config)));
  if (auto opened = app->open(); !opened) return base::pass(opened);
  return app;
}

base::Status App::open() {
  const auto& settings = config_.server();
  server_ = std::make_unique<http::Server>(
      io_.get_executor(), router_, http::Limits{.body = settings.max_body},
      http::AccessRules{.api_key = settings.api_key.value_or(""), .loopback_only = settings.listen.is_loopback()},
      clock_, [this] { return journal_.new_id(); });
  // Bound before anything is touched on disk: a second server on the same port must change nothing.
  if (auto bound = server_->bind(settings.listen.host, settings.listen.port); !bound) return bound;
  auto store = artifact::Store::open(
      settings.data_dir / "artifacts", clock_, [this](const domain::Event& event) { journal_.post_event(event); },
      store_files_);
  if (!store) return base::pass(store);
  store_ = std::move(*store);
  auto folder = make_run_folder(files_, settings.data_dir);
  if (!folder) return base::pass(folder);
  run_folder_ = std::move(*folder);
  reap();
  tier_library_ = tier_library_for(config_, run_folder_);

  estimates_ = open_estimates(settings.data_dir, clock_.wall());
  prefixes_ = open_prefixes(config_, files_, pool_, pages_, clock_,
                            [this](domain::Event event) { journal_.post_event(std::move(event)); });
  keeper_ = std::make_unique<keeper::Keeper>(keeper::KeeperParts{
      io_.get_executor(), pool_, *store_, stats_, pages_, memory_, clock_,
      [this](artifact::StoredModel model) { return serve_model(std::move(model)); },
      [this](const artifact::StoredModel& model) { return packed_folder_of(model); },
      [this](domain::ModelView& view) { describe_configured(view); },
      [this](const domain::ModelId& id) { return keep_rule_of(id); },
      [this](domain::Event event) { journal_.add_event(std::move(event)); }, log_crash(),
      [this](const artifact::StoredModel& model) { return prefix_held(model); }, room_config(config_, memory_),
      warming_rule(config_, memory_), &zone_, processes_.may_lower_niceness(), estimates_.get()});
  make_packed_quota();
  remember();
  gate_ = std::make_unique<KeeperGate>(*keeper_);
  shelf_ = std::make_unique<StoreShelf>(*keeper_, *store_, pool_);
  prefix_shelf_ = std::make_unique<TierPrefixes>(prefixes_.get(), *keeper_);
  probe_ = std::make_unique<HostProbe>(config_, *keeper_, engine_, memory_, pool_);
  relay_ = std::make_unique<http::Relay>(*gate_, journal_, clock_);
  http::add_openai_routes(router_, *relay_, *shelf_);
  ollama_relay_ = std::make_unique<http::OllamaRelay>(*gate_, *shelf_, journal_, clock_);
  http::add_ollama_routes(router_, *ollama_relay_, *shelf_, clock_);
  jobs_ = std::make_unique<http::LayerJobs>(io_.get_executor(), *shelf_, journal_);
  http::add_native_routes(router_, {*shelf_, *jobs_, journal_, *probe_});
  http::add_prefix_routes(router_, *prefix_shelf_);
  server_->serve();
  return {};
}

void App::remember() {
  if (estimates_) keeper_->remember(estimates_before(*estimates_));
  if (config_.history().keep.count() == 0) return;
  history_ = std::make_unique<timeline::History>(io_.get_executor(), clock_, log_crash());
  journal_.remember_in(*history_);
  keeper_->await_past();
  const auto past = std::make_shared<Past>();
  history_->start(
      [this, past, learner = keeper_->learner()]() mutable {
        return open_past(config_, clock_.wall(), learner, *past);
      },
      [this, past] {
        keeper_->remember(std::move(past->lessons));
        journal_.add_before(std::move(past->records));
      });
}

// The store's lock makes this the only server on the data directory, so what is found here belongs to a dead one.
void App::reap() {
  const auto reaped = engine::reap_leftovers(files_, processes_, run_folder_);
  if (!reaped) {
    spdlog::warn("looking for engines that a killed server left: {}", reaped.error().message);
    return;
  }
  for (const auto& one : *reaped)
    spdlog::info("{}", one.why);
}

rt::Task<base::Result<keeper::Service>> App::serve_model(artifact::StoredModel model) {
  const auto engine = co_await engine_.find();
  if (!engine) co_return std::unexpected(engine.error());
  const artifact::Manifest& manifest = model.manifest;
  const domain::ModelId id = manifest.id;
  config::ModelConfig config = config_.effective_for(id);
  const Exactness exactness = co_await exactness_for(model, *engine, config);
  config.flags.insert(config.flags.end(), exactness.added.flags.begin(), exactness.added.flags.end());
  const base::Bytes budget = keeper_->room().config().budget;
  keeper::ServeShape shape{.context = config.context,
                           .slots = config.slots.value_or(kDefaultSlots),
                           .prompt_cache = 0,
                           .flags = base::join(config.flags, " ")};
  if (const auto context = context_for(manifest, config, shape, budget)) {
    config.context = context;
    shape.context = context;
  }
  shape.prompt_cache = keeper::prompt_cache_for(manifest, shape, budget, config_.prefix().memory);
  engine::LlamaStarter::Parts starter{io_.get_executor(),        processes_, stats_, files_, run_folder_,
                                      engine::own_environment(), {}};
  engine::LaunchSpec launch = launch_spec(*engine, model, config, exactness.added.why);
  launch.prompt_cache_mib = static_cast<std::uint32_t>(shape.prompt_cache >> 20);
  if (const std::string key = packed_key_of(model); !key.empty()) {
    launch.tier = engine::TierLaunch{.library = tier_library_,
                                     .folder = config_.server().data_dir / "packed",
                                     .key = key,
                                     .check = engine::TierCheck::all,
                                     .quota = {}};
    packed_keys_[id.text()] = key;
    starter.packed_room = [this, name = id.text()] { return packed_quota_->allowance(name); };
  }
  keeper::Service service;
  service.prefix = prefix_session(model, *engine, exactness.rule, launch);
  service.reuses_nothing = !service.prefix && config_.prefix().exact;
  if (service.reuses_nothing)
    spdlog::warn("{}: nothing of a prompt is reused with [prefix] exact: its prefixes are not kept", id.text());
  engine::Supervisor::Parts parts{io_.get_executor(),
                                  std::make_unique<engine::LlamaStarter>(std::move(launch), std::move(starter)),
                                  clock_,
                                  pace_,
                                  [this](const domain::Event& event) {
                                    journal_.add_event(event);
                                    packed_quota_->hear(event);
                                  },
                                  log_crash()};
  engine::SupervisorLimits limits;
  limits.stall = config_.engine().start_stall;
  limits.hard_cap = config_.engine().start_limit;
  service.supervisor = std::make_unique<engine::Supervisor>(id, std::move(parts), limits);
  service.slots = config.slots.value_or(kDefaultSlots);
  service.context = context_of_one_request(config, manifest);
  service.needs = keeper::needs_of(manifest, shape);
  co_return service;
}

rt::Task<Exactness> App::exactness_for(const artifact::StoredModel& model, const domain::EngineInfo& engine,
                                       const config::ModelConfig& config) {
  if (!prefixes_ || !config_.prefix().exact) co_return Exactness{};
  auto exactness = co_await pool_.run([&] { return exactness_of(model, engine, config); });
  if (!exactness.rule)
    spdlog::warn("{}: nothing of a prompt is reused with [prefix] exact: {}", model.manifest.id.text(),
                 prefix::exact_reuse(exactness.rule, 0, 0).why);
  co_return exactness;
}

std::shared_ptr<keeper::PrefixSession> App::prefix_session(const artifact::StoredModel& model,
                                                           const domain::EngineInfo& engine,
                                                           const std::optional<prefix::BatchRule>& rule,
                                                           engine::LaunchSpec& launch) {
  if (!prefixes_) return nullptr;
  const config::ModelConfig config = config_.effective_for(model.manifest.id);
  auto plan = plan_prefixes(model, engine, config, config.slots.value_or(kDefaultSlots), config_.prefix().exact);
  auto folder = plan ? prefixes_->store().folder_for(plan->fingerprint) : std::unexpected(plan.error());
  if (!folder) {
    spdlog::warn("{}: {}", model.manifest.id.text(), folder.error().message);
    return nullptr;
  }
  launch.slot_save_folder = std::move(*folder);
  launch.keep_idle_slots = true;
  plan->rule = rule;
  return prefixes_->open(std::move(*plan));
}

// Of a model that did not run yet: what lies on disk for it, once the engine is known.
std::optional<domain::PrefixHeld> App::prefix_held(const artifact::StoredModel& model) {
  const auto& engine = engine_.last();
  if (!prefixes_ || !engine || !*engine) return std::nullopt;
  const config::ModelConfig config = config_.effective_for(model.manifest.id);
  const auto plan =
      plan_prefixes(model, **engine, config, config.slots.value_or(kDefaultSlots), config_.prefix().exact);
  if (!plan) return std::nullopt;
  const auto totals = prefixes_->store().totals(plan->fingerprint);
  return domain::PrefixHeld{.tokens_memory = 0, .tokens_disk = totals.tokens, .bytes_disk = totals.bytes};
}

void App::make_packed_quota() {
  packed_quota_ = std::make_unique<PackedQuota>(PackedQuota::Parts{
      io_.get_executor(), pool_, clock_, (config_.server().data_dir / "packed").string(), config_.engine().packed_quota,
      [this](const std::string& model) {
        const auto known = packed_keys_.find(model);
        return known == packed_keys_.end() ? std::string() : known->second;
      },
      [this] { return packed_in_use(); }, [this](domain::Event event) { journal_.tell(std::move(event)); },
      log_crash()});
  packed_quota_->look();
}

std::set<std::string> App::packed_in_use() const {
  std::set<std::string> keys;
  for (const auto& id : keeper_->with_engine()) {
    if (const auto known = packed_keys_.find(id.text()); known != packed_keys_.end()) keys.insert(known->second);
  }
  return keys;
}

// Known once the engine is: its build and backends are part of what packed weights depend on.
std::string App::packed_key_of(const artifact::StoredModel& model) const {
  const auto& engine = engine_.last();
  if (tier_library_.empty() || !engine || !*engine || !(*engine)->tier.available) return {};
  return engine::make_packed_key({.content_digest = model.manifest.digest.text(),
                                  .engine_version = (*engine)->version,
                                  .engine_build = (*engine)->build,
                                  .backends = (*engine)->backends,
                                  .flags = config_.effective_for(model.manifest.id).flags,
                                  .environment = {}});
}

std::string App::packed_folder_of(const artifact::StoredModel& model) const {
  const std::string key = packed_key_of(model);
  return key.empty() ? key : (config_.server().data_dir / "packed" / key).string();
}

void App::describe_configured(domain::ModelView& view) const {
  const auto config = config_.effective_for(view.id);
  view.service_class = config.service_class.value_or(domain::ServiceClass::interactive);
  view.pinned = config.pinned.value_or(false);
  view.context = config.context;
}

keeper::KeepRule App::keep_rule_of(const domain::ModelId& id) const {
  const auto config = config_.effective_for(id);
  return {.otherwise = config.keep_alive.value_or(domain::KeepAlive{config::kDefaultKeepAlive}),
          .pinned = config.pinned.value_or(false),
          .service_class = config.service_class.value_or(domain::ServiceClass::interactive)};
}

std::string App::address() const {
  config::ListenAddress bound = config_.server().listen;
  bound.port = server_->port();
  return "http://" + bound.text();
}

int App::run() {
  int status = 0;
  tasks_.spawn(look_for_engine());
  rt::asio::co_spawn(io_, stop_on_signal(), [&status](std::exception_ptr failure) {
    if (!failure) return;
    log_crash()(failure);
    status = 1;
  });
  io_.run();
  return status;
}

// So that the first request need not wait until the engine has told its version.
rt::Task<void> App::look_for_engine() {
  const auto engine = co_await engine_.find();
  if (engine) spdlog::info("the engine is {}", engine->id);
  if (!engine) spdlog::warn("no engine yet: {}", engine.error().message);
}

rt::Task<void> App::stop_on_signal() {
  const auto [error, number] = co_await signals_.async_wait(rt::kTuple);
  spdlog::info("stopping (signal {}); streams may finish, a second signal cuts them", number);
  signals_.async_wait([this](const rt::error_code& ended, int) {
    if (!ended) server_->cut();
  });
  pool_.end_long_work();  // before the grace, which is for streams
  const base::Duration grace = config_.server().stop_grace;
  co_await server_->stop(grace);
  co_await jobs_->stop();
  co_await keeper_->stop();
  co_await packed_quota_->stop();
  if (history_) co_await history_->stop();  // last: what the others say at their end is kept
  const bool done = co_await tasks_.join(std::chrono::seconds(15));
  if (!done) spdlog::warn("looking for the engine did not end in time");
  signals_.cancel();
}

}  // namespace hearth::daemon
