#pragma once
// Starts llama-server processes for one model: a private socket, a record for the reaper, the process itself.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine_process.h"
#include "engine/launch.h"
#include "engine/stop_ladder.h"
#include "sys/files.h"
#include "sys/processes.h"

namespace hearth::engine {

class LlamaStarter final : public Starter {
 public:
  struct Parts {
    boost::asio::any_io_executor executor;
    sys::Processes& processes;  // these three outlive the starter and what it starts
    const sys::ProcStats& stats;
    sys::Files& files;
    // <run dir>/engines, made where missing (0700). Each start gets <16 hex digits of the alias>-<n>.sock and .json
    // there.
    std::string folder;
    std::vector<std::string> environment;  // of this process, "NAME=value"; see plan_launch
    StopLimits stop;
    // How much the start at hand may add to the packed weights, asked at each; empty: as the LaunchSpec says.
    std::function<std::uint64_t()> packed_room{};
  };
  LlamaStarter(LaunchSpec spec, Parts parts) : spec_(std::move(spec)), parts_(std::move(parts)) {}

  // With LaunchSpec::tier, the library is preloaded and the process has a line to it. Where that cannot be (no such
  // file, a path that LD_PRELOAD cannot take, no descriptors), the engine starts as stock and its tier_lack() says why.
  // Errors: those of plan_launch and of spawn; no_space and such when the record cannot be written (nothing runs then).
  [[nodiscard]] base::Result<std::unique_ptr<EngineProcess>> start() override;
  [[nodiscard]] bool use_library(bool use) override;

 private:
  LaunchSpec spec_;
  Parts parts_;
  unsigned starts_ = 0;
  bool given_up_ = false;  // the library
};

// This process's environment as "NAME=value".
[[nodiscard]] std::vector<std::string> own_environment();

}  // namespace hearth::engine
