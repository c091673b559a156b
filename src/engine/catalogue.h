#pragma once
// The engines that this machine has: the configured one, the one on PATH, those that Hearth installed; in that order.
// Blocking (each engine is asked for its version, some 30 ms): command line's main thread or blocking pool.
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "domain/engine_info.h"

namespace hearth::engine {

// An engine as somebody writes it down: a program (a path, or a name to be found on PATH), or argv with a wrapper or
// loader in front, up to and including llama-server. Empty: none.
class EngineCommand {
 public:
  EngineCommand() = default;
  EngineCommand(std::string program) { argv_.push_back(std::move(program)); }
  EngineCommand(std::vector<std::string> argv) : argv_(std::move(argv)) {}
  [[nodiscard]] bool empty() const { return argv_.empty(); }
  [[nodiscard]] const std::vector<std::string>& argv() const { return argv_; }

 private:
  std::vector<std::string> argv_;
};

struct CatalogueOptions {
  // The configuration's engine. When set and not usable, that is an error and nothing else is looked at.
  EngineCommand configured;
  // Folders in which to look for `llama-server`, ":"-separated. Empty: PATH.
  std::string search_path;
  // Installed engines are in data_dir/engines.
  std::filesystem::path data_dir;
  // How long an engine may take to tell its version.
  std::chrono::milliseconds version_deadline{10'000};
  // Hears, in one sentence each, of what was found but cannot be used. May be empty.
  std::function<void(std::string_view)> on_skipped;
};

// Usable engines, best first: each has told its version. Errors: only about `configured` (its own code, with the mend).
[[nodiscard]] base::Result<std::vector<domain::EngineInfo>> list_engines(const CatalogueOptions& options);

// The first of them. Errors: also not_found, whose mend is `hearth engine install`.
[[nodiscard]] base::Result<domain::EngineInfo> find_engine(const CatalogueOptions& options);

struct EngineVersion {
  std::string version;
  std::optional<std::string> build;
};

// Understands "version: 0.7.0 (build 11669, commit Debian)" and "version: 6123 (a1b2c3d)" on a line of `llama-server
// --version`'s output; nothing for any other program's.
[[nodiscard]] std::optional<EngineVersion> parse_version(std::string_view output);

// Runs `command --version`. Errors: of run_command, and unsupported when the answer is not a llama-server's.
[[nodiscard]] base::Result<EngineVersion> ask_version(const std::vector<std::string>& command,
                                                      std::chrono::milliseconds deadline);

}  // namespace hearth::engine
