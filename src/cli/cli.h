#pragma once
// The command line: one call that parses it, does what it says and gives the exit status.
//
// What needs only the native API is done here. What needs the machine itself (the server, the engines, the probe) comes
// in as functions from the composition root. Exit status: 0 done, 1 the operation failed, 2 wrong usage. Errors go to
// `err` as one sentence; with --json exactly one JSON document goes to `out`, and nothing when the command failed.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "domain/engine_info.h"
#include "domain/machine.h"

namespace hearth::cli {

struct ServeOptions {
  std::optional<std::filesystem::path> config;
  std::optional<std::string> listen;
  std::optional<std::filesystem::path> data_dir;
  bool check_config = false;  // read the configuration, say whether it is right, and end
};

struct EngineOptions {
  std::optional<std::filesystem::path> config;
  std::optional<std::filesystem::path> data_dir;
};

// How far something is that takes its time. `done` of `total` in bytes where they are known.
struct ProgressStep {
  std::string what;  // "fetching the engine"
  std::optional<std::uint64_t> done = std::nullopt;
  std::optional<std::uint64_t> total = std::nullopt;
};
using Progress = std::function<void(const ProgressStep&)>;

struct LocalCommands {
  // Reports its own errors; the answer is the exit status.
  std::function<int(const ServeOptions&)> serve;
  std::function<base::Result<std::vector<domain::EngineInfo>>(const EngineOptions&)> engine_list;
  std::function<base::Result<domain::EngineInfo>(const EngineOptions&, Progress)> engine_install;
  std::function<base::Result<domain::MachineView>(const EngineOptions&)> doctor;
};

// Reads standard input for `hearth run MODEL` without a prompt, and the environment for HEARTH_URL and HEARTH_API_KEY.
// Takes `out` and `err` for terminals when they are std::cout and std::cerr and those are.
int run(int argc, const char* const* argv, const LocalCommands& local, std::ostream& out, std::ostream& err);

[[nodiscard]] std::string_view version();

}  // namespace hearth::cli
