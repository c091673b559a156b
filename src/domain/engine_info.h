#pragma once
// One installed engine, as `hearth engine list` tells it.
#include <optional>
#include <string>
#include <vector>

namespace hearth::domain {

// What libhearth_tier.so can hold on to in this engine.
struct TierSupport {
  bool available = false;            // every interposition point is there
  std::vector<std::string> present;  // interposition points found
  std::vector<std::string> missing;  // and not found
};

struct EngineInfo {
  std::string id;  // "llama-server-11669"
  std::string kind = "llama-server";
  std::string version;                // "0.7.0"
  std::optional<std::string> build;   // "11669"
  std::string origin;                 // "config" | "path" | "installed": how it was found
  std::vector<std::string> command;   // argv up to and including llama-server; its flags follow
  std::vector<std::string> backends;  // "cpu-zen4", "vulkan"
  TierSupport tier;
};

}  // namespace hearth::domain
