#pragma once
// Where libhearth_tier.so is, and a path of it that LD_PRELOAD can take.
#include <string>

#include "base/result.h"
#include "domain/engine_info.h"
#include "domain/machine.h"

namespace hearth::daemon {

// Beside this program, or in the library folder beside the program's; empty when it is in neither.
[[nodiscard]] std::string find_tier_library();

// True for a path that LD_PRELOAD, which is split at spaces and colons, takes as one.
[[nodiscard]] bool can_be_preloaded(const std::string& path);

// The path itself where it can be preloaded, or else a link to it that is made in `run_folder`. Errors: io and such, of
// making the link.
[[nodiscard]] base::Result<std::string> preloadable(const std::string& library, const std::string& run_folder);

// What the library can do in this engine, on a kernel with pages of this size.
[[nodiscard]] domain::Capability tier_capability(const domain::EngineInfo& engine, const std::string& library,
                                                 long page_bytes);

}  // namespace hearth::daemon
