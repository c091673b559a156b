#include "domain/engine_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace hearth::domain {
namespace {

struct OwnedFlag {
  std::string_view name;
  std::string_view mend;
};

constexpr std::string_view kModel = "the model comes from Hearth's store; bring files in with `hearth import`";
constexpr std::string_view kPlace = "Hearth gives each engine its own address; set listen in [server] for clients";
constexpr std::string_view kKey = "each engine gets a key of its own; set api_key in [server] for clients";
constexpr std::string_view kName = "clients know the model by its Hearth name";
constexpr std::string_view kContext = "use the key context";
constexpr std::string_view kSlots = "use the key slots";
constexpr std::string_view kWatch = "Hearth needs it to watch the engine";
constexpr std::string_view kSleep = "Hearth decides when a model sleeps; use the key keep_alive";
constexpr std::string_view kEnds = "it makes the engine print something and end";

constexpr std::array kOwned = {
    OwnedFlag{"-m", kModel},
    OwnedFlag{"--model", kModel},
    OwnedFlag{"-mu", kModel},
    OwnedFlag{"--model-url", kModel},
    OwnedFlag{"-dr", kModel},
    OwnedFlag{"--docker-repo", kModel},
    OwnedFlag{"-hf", kModel},
    OwnedFlag{"-hfr", kModel},
    OwnedFlag{"--hf-repo", kModel},
    OwnedFlag{"-hff", kModel},
    OwnedFlag{"--hf-file", kModel},
    OwnedFlag{"--models-dir", kModel},
    OwnedFlag{"--models-preset", kModel},
    OwnedFlag{"--models-max", kModel},
    OwnedFlag{"--models-autoload", kModel},
    OwnedFlag{"--no-models-autoload", kModel},
    OwnedFlag{"--host", kPlace},
    OwnedFlag{"--port", kPlace},
    OwnedFlag{"--reuse-port", kPlace},
    OwnedFlag{"--api-prefix", kPlace},
    OwnedFlag{"--ssl-key-file", kPlace},
    OwnedFlag{"--ssl-cert-file", kPlace},
    OwnedFlag{"--path", kPlace},
    OwnedFlag{"--ui", kPlace},
    OwnedFlag{"--webui", kPlace},
    OwnedFlag{"--api-key", kKey},
    OwnedFlag{"--api-key-file", kKey},
    OwnedFlag{"-a", kName},
    OwnedFlag{"--alias", kName},
    OwnedFlag{"-c", kContext},
    OwnedFlag{"--ctx-size", kContext},
    OwnedFlag{"-np", kSlots},
    OwnedFlag{"--parallel", kSlots},
    OwnedFlag{"--sse-ping-interval", "it decides how fast the engine can be stopped"},
    OwnedFlag{"--slots", kWatch},
    OwnedFlag{"--no-slots", kWatch},
    OwnedFlag{"--metrics", kWatch},
    OwnedFlag{"--slot-save-path", kWatch},
    OwnedFlag{"--log-disable", kWatch},
    OwnedFlag{"--log-file", kWatch},
    OwnedFlag{"--log-jsonl", kWatch},
    OwnedFlag{"--no-log-jsonl", kWatch},
    OwnedFlag{"--log-prompts-dir", "requests are not written to disk"},
    OwnedFlag{"--sleep-idle-seconds", kSleep},
    OwnedFlag{"-h", kEnds},
    OwnedFlag{"--help", kEnds},
    OwnedFlag{"--usage", kEnds},
    OwnedFlag{"--version", kEnds},
    OwnedFlag{"-cl", kEnds},
    OwnedFlag{"--cache-list", kEnds},
    OwnedFlag{"--list-devices", kEnds},
    OwnedFlag{"--completion-bash", kEnds},
};

// As the engine's parser sees it: '_' is '-', and what follows '=' is the value.
std::string canonical(std::string_view flag) {
  std::string name(flag.substr(0, flag.find('=')));
  if (name.starts_with("--")) std::ranges::replace(name, '_', '-');
  return name;
}

// Presets such as --gpt-oss-20b-default download a model and replace the one that was asked for.
bool is_download_preset(std::string_view name) {
  constexpr std::array<std::string_view, 4> kFamilies = {"--embd-", "--fim-", "--gpt-oss-", "--vision-"};
  return (name.ends_with("-default") || name.ends_with("-spec")) &&
         std::ranges::any_of(kFamilies, [&](auto family) { return name.starts_with(family); });
}

}  // namespace

base::Status check_engine_flags(const std::vector<std::string>& flags) {
  for (const auto& flag : flags) {
    if (flag.empty() || flag.find('\0') != std::string::npos) {
      return base::fail(base::ErrorCode::bad_request,
                        "a flag is empty or holds a zero byte; write each flag and each value as one string");
    }
    if (flag.starts_with("--") && flag.substr(0, flag.find('=')).contains(' ')) {
      return base::fail(base::ErrorCode::bad_request,
                        fmt::format("flag \"{}\" holds a space; write the flag and its value as two strings",
                                    base::printable(flag, 60)));
    }
    const std::string name = canonical(flag);
    const auto owned = std::ranges::find(kOwned, name, &OwnedFlag::name);
    const bool preset = is_download_preset(name);
    if (owned == kOwned.end() && !preset) continue;
    return base::fail(
        base::ErrorCode::bad_request,
        fmt::format("flag \"{}\" is not yours to set: {}", base::printable(flag, 60), preset ? kModel : owned->mend));
  }
  return {};
}

}  // namespace hearth::domain
