#pragma once
// Which flags make an engine's start shorter without changing its answers. Pure.
//
// Both were measured with bench/cold_start (docs/tier.md, "Start flags"): fitting reads metadata and vocabulary of the
// model a second time; the warm-up run saves the first request nothing where no kernels are compiled.
#include <optional>
#include <string>
#include <vector>

namespace hearth::engine {

struct StartFacts {
  std::optional<std::string> engine_build;  // EngineInfo::build
  std::vector<std::string> backends;        // EngineInfo::backends
  bool context_set = false;                 // the context's size is given, so there is nothing to fit but devices
  std::vector<std::string> flags;           // the configuration's own; what they decide is left alone
};

struct StartFlags {
  std::vector<std::string> flags;
  std::string why;  // one sentence without a full stop; empty when there are no flags
};

// No flags for an engine older than the build that these were measured on: an engine refuses to start with a flag that
// it does not know.
[[nodiscard]] StartFlags choose_start_flags(const StartFacts& facts);

}  // namespace hearth::engine
