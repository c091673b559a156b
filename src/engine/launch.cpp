#include "engine/launch.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "domain/engine_flags.h"
#include "tier/protocol.h"

namespace hearth::engine {
namespace {

base::Status check_socket(const std::string& path) {
  if (path.size() > kSocketPathLimit) {
    return base::fail(base::ErrorCode::bad_request, "the engine's socket path " + path + " has " +
                                                        std::to_string(path.size()) + " bytes, more than the " +
                                                        std::to_string(kSocketPathLimit) +
                                                        " that the system allows: use a shorter run folder");
  }
  if (!path.starts_with('/') || !path.ends_with(".sock")) {
    return base::fail(base::ErrorCode::bad_request,
                      "the engine's socket " + path + " must be absolute and end in .sock");
  }
  return {};
}

bool is_kept(std::string_view name) {
  constexpr std::array<std::string_view, 12> kNames = {"PATH",   "HOME",   "LANG",    "LANGUAGE", "TZ",
                                                       "TMPDIR", "USER",   "LOGNAME", "SHELL",    "LD_LIBRARY_PATH",
                                                       "TERM",   "DISPLAY"};
  constexpr std::array<std::string_view, 12> kPrefixes = {"LC_",  "XDG_",  "CUDA_", "NVIDIA_", "HIP_",  "ROCR_",
                                                          "HSA_", "ROCM_", "OMP_",  "ONEAPI_", "MESA_", "SYCL_"};
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kPrefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

using Variables = std::vector<std::pair<std::string, std::string>>;

const char* check_word(TierCheck check) {
  switch (check) {
    case TierCheck::all:
      return "all";
    case TierCheck::sample:
      return "sample";
    case TierCheck::none:
      return "none";
  }
  return "all";
}

// What the library reads, in the words of tier/settings.h.
Variables tier_variables(const TierLaunch& tier, const std::string& model_file) {
  Variables variables = {{"HEARTH_TIER_FD", std::to_string(kTierFd)},
                         {"HEARTH_TIER_PROTOCOL", std::to_string(tier::kProtocolVersion)},
                         {"HEARTH_TIER_CHECK", check_word(tier.check)}};
  if (!tier.folder.empty()) {
    variables.emplace_back("HEARTH_TIER_DIR", tier.folder);
    variables.emplace_back("HEARTH_TIER_KEY", tier.key);
    variables.emplace_back("HEARTH_TIER_MODEL", model_file);
  }
  if (tier.quota == 0)
    variables.emplace_back("HEARTH_TIER_PACK", "off");
  else if (tier.quota)
    variables.emplace_back("HEARTH_TIER_QUOTA", std::to_string(*tier.quota));
  return variables;
}

void put(Variables& variables, const std::string& name, std::string value) {
  std::erase_if(variables, [&](const auto& entry) { return entry.first == name; });
  variables.emplace_back(name, std::move(value));
}

void add_tier(Variables& variables, const TierLaunch& tier, const std::string& model_file) {
  std::string preload = tier.library;
  for (const auto& [name, value] : variables) {
    if (name == "LD_PRELOAD" && !value.empty()) preload += ":" + value;
  }
  put(variables, "LD_PRELOAD", std::move(preload));
  for (auto& [name, value] : tier_variables(tier, model_file))
    put(variables, name, std::move(value));
}

std::vector<std::string> make_environment(const LaunchSpec& spec, const std::vector<std::string>& parent) {
  Variables own = spec.environment;
  if (spec.tier) add_tier(own, *spec.tier, spec.model_file);
  const auto configured = [&](std::string_view name) {
    return std::ranges::any_of(own, [&](const auto& entry) { return entry.first == name; });
  };
  std::vector<std::string> environment;
  for (const auto& entry : parent) {
    const auto name = std::string_view(entry).substr(0, entry.find('='));
    if (is_kept(name) && !configured(name)) environment.push_back(entry);
  }
  for (const auto& [name, value] : own)
    environment.push_back(name + "=" + value);
  return environment;
}

std::vector<std::string> make_argv(const LaunchSpec& spec, const std::string& socket_path) {
  auto argv = spec.command;
  const auto add = [&](std::initializer_list<std::string> more) { argv.insert(argv.end(), more); };
  add({"-m", spec.model_file, "--alias", spec.alias, "--host", socket_path});
  // The port belongs to no address here; without it a build's default may be taken to be in use.
  add({"--port", "0", "--no-webui", "--offline"});
  // A stop waits until every stream's handler wakes, which it does at its next ping.
  add({"--sse-ping-interval", "1"});
  add({spec.slot_monitor ? "--slots" : "--no-slots"});
  if (spec.context) add({"-c", std::to_string(*spec.context)});
  if (spec.slots) add({"-np", std::to_string(*spec.slots)});
  if (spec.slot_save_folder) add({"--slot-save-path", *spec.slot_save_folder});
  argv.insert(argv.end(), spec.tuned.begin(), spec.tuned.end());
  if (spec.prompt_cache_mib) add({"--cache-ram", std::to_string(*spec.prompt_cache_mib)});
  if (spec.keep_idle_slots) add({"--no-cache-idle-slots"});
  argv.insert(argv.end(), spec.flags.begin(), spec.flags.end());
  return argv;
}

}  // namespace

base::Result<Launch> plan_launch(const LaunchSpec& spec, const std::string& socket_path,
                                 const std::vector<std::string>& parent_environment) {
  if (spec.command.empty()) return base::fail(base::ErrorCode::bad_request, "the engine's command is empty");
  if (auto fit = check_socket(socket_path); !fit) return base::pass(fit);
  if (auto fit = domain::check_engine_flags(spec.flags); !fit) return base::pass(fit);
  return Launch{make_argv(spec, socket_path), make_environment(spec, parent_environment)};
}

}  // namespace hearth::engine
