#pragma once
// How llama-server is called. Pure. Written for build 11669; older builds that lack a flag refuse to start and say so.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "domain/model_id.h"

namespace hearth::engine {

struct LaunchSpec {
  std::vector<std::string> command;  // EngineInfo::command: argv up to and including llama-server
  std::string model_file;            // absolute
  std::string alias;                 // what it calls the model in its answers: the model's id
  std::optional<std::uint32_t> context;
  std::optional<std::uint32_t> slots;                            // requests at a time; empty: the engine's own choice
  bool slot_monitor = false;                                     // GET /slots
  std::optional<std::string> slot_save_folder;                   // where slot states may be saved to
  std::vector<std::string> flags;                                // the configuration's own, added at the end
  std::vector<std::pair<std::string, std::string>> environment;  // the configuration's own; wins over everything
};

struct Launch {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value"
};

// The most that a Unix socket's path may have (sockaddr_un, without its final 0).
inline constexpr std::size_t kSocketPathLimit = 107;

// Of `parent_environment` ("NAME=value") only what a program and its drivers need is kept: paths, locale, folders, and
// the accelerators' own variables; LLAMA_* and GGML_* would change the engine behind our back, anything else may be a
// secret. Errors: bad_request when the socket path is too long or does not end in ".sock", when the command is empty,
// or when a flag of the configuration takes over what Hearth owns (address, key, model, name, log, sleep): the message
// says which setting to use instead, where there is one.
[[nodiscard]] base::Result<Launch> plan_launch(const LaunchSpec& spec, const std::string& socket_path,
                                               const std::vector<std::string>& parent_environment);

}  // namespace hearth::engine
