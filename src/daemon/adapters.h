#pragma once
// The ports of src/http, joined to the keeper, the store and the machine. Each forwards and translates, nothing else.
// Thread: the I/O thread. What they are given outlives them.
#include <functional>

#include "artifact/store.h"
#include "config/config.h"
#include "daemon/engine_choice.h"
#include "http/ports.h"
#include "keeper/keeper.h"
#include "rt/blocking_pool.h"
#include "rt/notice.h"
#include "sys/memory.h"

namespace hearth::daemon {

class KeeperGate final : public http::EngineGate {
 public:
  explicit KeeperGate(keeper::Keeper& keeper) : keeper_(keeper) {}
  [[nodiscard]] rt::Task<base::Result<std::unique_ptr<http::EngineLease>>> acquire(domain::ModelId model,
                                                                                   domain::Asker asker) override;
  [[nodiscard]] rt::Task<base::Status> unload(domain::ModelId model, domain::Asker asker) override {
    return keeper_.unload(std::move(model), std::move(asker));
  }

 private:
  keeper::Keeper& keeper_;
};

class StoreShelf final : public http::ModelShelf {
 public:
  StoreShelf(keeper::Keeper& keeper, artifact::Store& store, rt::BlockingPool& pool)
      : keeper_(keeper), store_(store), pool_(pool) {}
  [[nodiscard]] rt::Task<base::Result<std::vector<domain::ModelView>>> list() override { return keeper_.list(); }
  [[nodiscard]] rt::Task<base::Result<domain::ModelView>> find(domain::ModelId model) override {
    return keeper_.find(std::move(model));
  }
  [[nodiscard]] rt::Task<base::Result<domain::ModelCard>> card(domain::ModelId model) override;
  [[nodiscard]] rt::Task<base::Status> remove(domain::ModelId model) override {
    return keeper_.remove(std::move(model));
  }
  [[nodiscard]] rt::Task<base::Result<domain::LayerWork>> change(domain::ModelId model, domain::LayerAction action,
                                                                 std::optional<domain::Layer> layer,
                                                                 domain::Asker asker) override {
    return keeper_.change(std::move(model), action, layer, std::move(asker));
  }
  [[nodiscard]] rt::Task<base::Result<domain::Verification>> verify(domain::ModelId model) override {
    return keeper_.verify(std::move(model));
  }
  [[nodiscard]] rt::Task<base::Result<domain::LoadPlan>> plan(domain::ModelId model, domain::Asker asker) override {
    return keeper_.plan(std::move(model), std::move(asker));
  }
  [[nodiscard]] rt::Task<base::Result<std::unique_ptr<http::ModelUpload>>> upload(domain::ModelId model,
                                                                                  std::uint64_t bytes) override;

 private:
  keeper::Keeper& keeper_;
  artifact::Store& store_;
  rt::BlockingPool& pool_;
};

// The engine that the configuration means, looked for when it is first needed and again while there is none.
class EngineFinder {
 public:
  EngineFinder(const config::Config& config, rt::BlockingPool& pool, const rt::asio::any_io_executor& executor)
      : config_(config), pool_(pool), changed_(executor) {}
  [[nodiscard]] rt::Task<base::Result<domain::EngineInfo>> find();
  // What the last look gave; empty before the first.
  [[nodiscard]] const std::optional<base::Result<domain::EngineInfo>>& last() const { return found_; }

 private:
  const config::Config& config_;
  rt::BlockingPool& pool_;
  std::optional<base::Result<domain::EngineInfo>> found_;
  bool looking_ = false;
  rt::Notice changed_;
};

class HostProbe final : public http::MachineProbe {
 public:
  HostProbe(const config::Config& config, keeper::Keeper& keeper, EngineFinder& engine, const sys::Memory& memory,
            rt::BlockingPool& pool)
      : config_(config), keeper_(keeper), engine_(engine), memory_(memory), pool_(pool) {}
  [[nodiscard]] rt::Task<domain::MachineView> look() override;
  [[nodiscard]] http::Health health() override;

 private:
  const config::Config& config_;
  keeper::Keeper& keeper_;
  EngineFinder& engine_;
  const sys::Memory& memory_;
  rt::BlockingPool& pool_;
};

}  // namespace hearth::daemon
