#include "daemon/machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <thread>

#include "base/text.h"
#include "daemon/tier_library.h"
#include "sys/capabilities.h"

namespace hearth::daemon {
namespace {

using domain::Capability;
using domain::CapabilityState;

CapabilityState state_of(sys::CapabilityState state) {
  switch (state) {
    case sys::CapabilityState::works:
      return CapabilityState::works;
    case sys::CapabilityState::degraded:
      return CapabilityState::degraded;
    case sys::CapabilityState::absent:
      return CapabilityState::absent;
  }
  return CapabilityState::absent;
}

Capability engine_capability(const base::Result<domain::EngineInfo>& engine) {
  if (!engine) return {"engine", CapabilityState::absent, engine.error().message, "run `hearth engine install`"};
  return {"engine", CapabilityState::works,
          fmt::format("{} {} ({}), backends: {}", engine->kind, engine->version, engine->origin,
                      base::join(engine->backends, ", ")),
          std::nullopt};
}

std::filesystem::path existing_part(std::filesystem::path path) {
  std::error_code ignored;  // what cannot be looked at does not exist for us
  while (!std::filesystem::exists(path, ignored) && path.has_parent_path() && path != path.parent_path())
    path = path.parent_path();
  return path;
}

}  // namespace

domain::MachineView look_at_machine(const sys::Memory& memory, const std::filesystem::path& data_dir,
                                    const base::Result<domain::EngineInfo>& engine) {
  const auto sizes = memory.memory();
  const auto pressure = memory.pressure();
  domain::MachineView view{.memory_total = sizes.total,
                           .memory_available = sizes.available,
                           .page_cache = sizes.page_cache,
                           .swap_total = sizes.swap_total,
                           .swap_free = sizes.swap_free,
                           .psi_memory_some_avg10 = pressure.memory_some_avg10,
                           .psi_io_some_avg10 = pressure.io_some_avg10,
                           .load = memory.load_average(),
                           .processors = std::thread::hardware_concurrency(),
                           .capabilities = {}};
  view.capabilities.push_back(engine_capability(engine));
  if (engine) view.capabilities.push_back(tier_capability(*engine, find_tier_library(), ::sysconf(_SC_PAGESIZE)));
  for (auto& found : sys::probe_capabilities({.scratch = existing_part(data_dir)})) {
    view.capabilities.push_back(
        {std::move(found.name), state_of(found.state), std::move(found.why), std::move(found.fix)});
  }
  return view;
}

}  // namespace hearth::daemon
