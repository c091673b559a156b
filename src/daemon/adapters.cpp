#include "daemon/adapters.h"

#include <fmt/format.h>

#include "artifact/card.h"
#include "base/scope_exit.h"
#include "daemon/machine.h"

namespace hearth::daemon {
namespace {

class HeldLease final : public http::EngineLease {
 public:
  explicit HeldLease(std::unique_ptr<keeper::Lease> lease) : lease_(std::move(lease)) {}
  [[nodiscard]] const std::string& socket_path() const override { return lease_->socket_path(); }
  [[nodiscard]] std::optional<std::uint64_t> context() const override { return lease_->context(); }
  void describe(domain::RequestObservation& observation) const override { lease_->describe(observation); }
  void note_sent() override { lease_->note_sent(); }
  [[nodiscard]] rt::Task<std::string> fit(std::string path, std::string body,
                                          domain::RequestObservation& observation) override {
    return lease_->fit(std::move(path), std::move(body), observation);
  }
  void conclude(domain::RequestObservation& observation, bool answered) override {
    lease_->conclude(observation, answered);
  }
  [[nodiscard]] rt::Task<base::Error> why_gone() override { return lease_->why_gone(); }

 private:
  std::unique_ptr<keeper::Lease> lease_;
};

class PooledUpload final : public http::ModelUpload {
 public:
  PooledUpload(artifact::ImportSession session, rt::BlockingPool& pool) : session_(std::move(session)), pool_(pool) {}
  [[nodiscard]] rt::Task<base::Status> write(std::span<const char> bytes) override {
    co_return co_await pool_.run([&] { return session_.write(std::as_bytes(bytes)); });
  }
  [[nodiscard]] rt::Task<base::Result<bool>> finish() override {
    auto imported = co_await pool_.run([this] { return std::move(session_).finish(); });
    if (!imported) co_return base::pass(imported);
    co_return imported->fresh;
  }

 private:
  artifact::ImportSession session_;
  rt::BlockingPool& pool_;
};

}  // namespace

rt::Task<base::Result<std::unique_ptr<http::EngineLease>>> KeeperGate::acquire(domain::ModelId model,
                                                                               domain::Asker asker) {
  auto lease = co_await keeper_.acquire(std::move(model), std::move(asker));
  if (!lease) co_return base::pass(lease);
  co_return std::make_unique<HeldLease>(std::move(*lease));
}

rt::Task<base::Result<domain::ModelCard>> StoreShelf::card(domain::ModelId model) {
  co_return co_await pool_.run([&]() -> base::Result<domain::ModelCard> {
    auto stored = store_.find(model);
    if (!stored) return base::pass(stored);
    auto source = artifact::FileSource::open(stored->path.c_str());
    if (!source) return base::pass(source);
    auto gguf = artifact::read_gguf(*source);
    if (!gguf) return base::pass(gguf, "the file of model " + model.text());
    return artifact::card_of(*gguf);
  });
}

rt::Task<base::Result<std::unique_ptr<http::ModelUpload>>> StoreShelf::upload(domain::ModelId model,
                                                                              std::uint64_t bytes) {
  auto session = co_await pool_.run([&] { return store_.begin_import(model, bytes, artifact::IfTaken::refuse); });
  if (!session) co_return base::pass(session);
  co_return std::make_unique<PooledUpload>(std::move(*session), pool_);
}

rt::Task<base::Result<domain::EngineInfo>> EngineFinder::find() {
  // Whoever comes while somebody looks waits for that answer.
  while (looking_) {
    if (!co_await changed_.wait_until(base::Mono::max()))
      co_return base::fail(base::ErrorCode::cancelled, "looking for the engine was given up");
  }
  if (found_ && *found_) co_return *found_;
  looking_ = true;
  const base::ScopeExit no_longer([this] {
    looking_ = false;
    changed_.notify_all();
  });
  found_ = co_await pool_.run([this] { return engine::find_engine(catalogue_options(config_)); });
  // Whatever the reason: to a client it must not look like a model that is missing.
  if (!*found_) found_->error().code = base::ErrorCode::engine_failed;
  co_return *found_;
}

rt::Task<domain::MachineView> HostProbe::look() {
  const auto engine = co_await engine_.find();
  auto view = co_await pool_.run([&] { return look_at_machine(memory_, config_.server().data_dir, engine); });
  view.plan = keeper_.memory_plan();
  co_return view;
}

http::Health HostProbe::health() {
  http::Health health;
  const auto& engine = engine_.last();
  const bool engine_ok = !engine || engine->has_value();
  health.checks.push_back({"engine", engine_ok,
                           !engine     ? "not looked for yet"
                           : engine_ok ? (*engine)->id
                                       : engine->error().message});
  // An engine start is given up when nothing of it moves for start_stall; a wait beyond the longest start means that
  // the load path itself is stuck.
  const auto waited = keeper_.oldest_wait();
  if (waited) health.oldest_queued_ms = base::to_ms(*waited);
  const bool stuck = waited && *waited > config_.engine().start_limit + config_.engine().start_stall;
  health.checks.push_back({"load_path", !stuck,
                           waited ? fmt::format("the oldest request waits for {:.0f} ms", base::to_ms(*waited))
                                  : "no request waits for an engine"});
  return health;
}

}  // namespace hearth::daemon
