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

// How much of a packed file is read before it is used.
enum class TierCheck { all, sample, none };

// The preloaded library (docs/tier.md). It is reached by LD_PRELOAD, whose entries cannot contain a space or a colon.
struct TierLaunch {
  std::string library;  // absolute path of libhearth_tier.so
  std::string folder;   // of packed weights; empty: none are kept and weights stay in anonymous memory
  std::string key;      // packed_key.h
  TierCheck check = TierCheck::all;
  std::optional<std::uint64_t> quota;  // bytes this start may add to the folder; empty: no limit, 0: none are kept
};

// The number under which the engine finds its end of the line to the daemon.
inline constexpr int kTierFd = 3;

struct LaunchSpec {
  std::vector<std::string> command;  // EngineInfo::command: argv up to and including llama-server
  std::string model_file;            // absolute
  std::string alias;                 // what it calls the model in its answers: the model's id
  std::optional<std::uint32_t> context;
  std::optional<std::uint32_t> slots;             // requests at a time; empty: the engine's own choice
  bool slot_monitor = false;                      // GET /slots
  std::optional<std::string> slot_save_folder;    // where slot states may be saved to
  std::optional<std::uint32_t> prompt_cache_mib;  // --cache-ram; empty: the engine's own choice
  std::vector<std::string> tuned;                 // Hearth's choice (start_flags.h), in front of the configuration's
  std::string tuned_why;                          // for people; empty: nothing is tuned
  std::vector<std::string> flags;                 // the configuration's own, added at the end
  // The configuration's own; wins over everything but what the library must be told. An LD_PRELOAD of its own is kept,
  // after the library.
  std::vector<std::pair<std::string, std::string>> environment;
  std::optional<TierLaunch> tier;  // empty: a stock engine
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
