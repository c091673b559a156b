#include "engine/start_flags.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/text.h"

namespace hearth::engine {
namespace {

constexpr unsigned kMeasuredBuild = 11669;

bool new_enough(const std::optional<std::string>& build) {
  unsigned number = 0;
  if (!build) return false;
  const auto [end, error] = std::from_chars(build->data(), build->data() + build->size(), number);
  return error == std::errc() && end == build->data() + build->size() && number >= kMeasuredBuild;
}

bool only_processors(const std::vector<std::string>& backends) {
  return !backends.empty() && std::ranges::all_of(backends, [](const std::string& name) {
    return name == "cpu" || name.starts_with("cpu-");
  });
}

bool mentions(const std::vector<std::string>& flags, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(flags, [&](const std::string& flag) {
    const std::string_view name = std::string_view(flag).substr(0, flag.find('='));
    return std::ranges::find(names, name) != names.end();
  });
}

}  // namespace

StartFlags choose_start_flags(const StartFacts& facts) {
  StartFlags chosen;
  if (!new_enough(facts.engine_build) || !only_processors(facts.backends)) return chosen;
  std::vector<std::string> reasons;
  if (facts.context_set && !mentions(facts.flags, {"--fit", "-fit", "--fit-target", "-fitt", "--fit-ctx", "-fitc"})) {
    chosen.flags.insert(chosen.flags.end(), {"--fit", "off"});
    reasons.emplace_back("--fit off, as the context is set and no device is there to divide the model over");
  }
  if (!mentions(facts.flags, {"--warmup", "--no-warmup"})) {
    chosen.flags.emplace_back("--no-warmup");
    reasons.emplace_back("--no-warmup, as a processor has no kernels to compile");
  }
  chosen.why = base::join(reasons, "; ");
  return chosen;
}

}  // namespace hearth::engine
