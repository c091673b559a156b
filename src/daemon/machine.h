#pragma once
// Looks at the machine for /hearth/v1/machine and `hearth doctor`.
#include <filesystem>

#include "base/result.h"
#include "domain/engine_info.h"
#include "domain/machine.h"
#include "sys/memory.h"

namespace hearth::daemon {

// Memory, pressure and what each mechanism can do here, measured now. `engine` is what the catalogue found, or why it
// found nothing. Blocks for some milliseconds.
[[nodiscard]] domain::MachineView look_at_machine(const sys::Memory& memory, const std::filesystem::path& data_dir,
                                                  const base::Result<domain::EngineInfo>& engine);

}  // namespace hearth::daemon
