#include "engine/tier_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace hearth::engine {
namespace {

struct Point {
  std::string_view name;
  // Another name that serves as well: older or newer builds use one or the other. Empty: none.
  std::string_view instead;
  // The tier calls it rather than standing in for it.
  bool only_called = false;
};

constexpr std::array<Point, 13> kPoints = {{
    {.name = "posix_memalign", .instead = {}},
    {.name = "ggml_backend_tensor_set", .instead = {}},
    {.name = "ggml_backend_buffer_set_usage", .instead = {}},
    {.name = "ggml_backend_load_all_from_path", .instead = {}},
    {.name = "llama_tokenize", .instead = {}},
    {.name = "llama_process", .instead = "llama_decode"},
    {.name = "llama_state_seq_get_data", .instead = "llama_state_seq_get_data_ext"},
    {.name = "llama_state_seq_set_data", .instead = "llama_state_seq_set_data_ext"},
    {.name = "llama_state_seq_save_file", .instead = {}},
    {.name = "llama_state_seq_load_file", .instead = {}},
    {.name = "ggml_get_name", .instead = {}, .only_called = true},
    {.name = "ggml_get_data", .instead = {}, .only_called = true},
    {.name = "ggml_nbytes", .instead = {}, .only_called = true},
}};

bool offered(std::span<const LinkedObject> objects, std::string_view name) {
  return std::ranges::any_of(objects,
                             [name](const LinkedObject& object) { return object.symbols.offered.contains(name); });
}

bool reached(std::span<const LinkedObject> objects, std::string_view name) {
  return std::ranges::any_of(objects,
                             [name](const LinkedObject& object) { return object.symbols.relocated.contains(name); });
}

bool has(std::span<const LinkedObject> objects, std::string_view name, bool only_called) {
  if (name.empty()) return false;
  return only_called ? offered(objects, name) : reached(objects, name);
}

std::string why_missing(std::span<const LinkedObject> objects, std::string_view name) {
  if (!objects.front().symbols.dynamic) return "the engine is a static program, nothing can be preloaded into it";
  if (objects.size() == 1) return "the engine's libraries are linked statically into it";
  if (offered(objects, name)) return "no object of the engine calls it through the dynamic linker";
  return "no object of this engine build has it";
}

}  // namespace

domain::TierSupport judge_tier(std::span<const LinkedObject> objects) {
  domain::TierSupport support;
  for (const Point& point : kPoints) {
    if (has(objects, point.name, point.only_called)) {
      support.present.emplace_back(point.name);
    } else if (has(objects, point.instead, point.only_called)) {
      support.present.emplace_back(point.instead);
    } else {
      support.missing.push_back(fmt::format("{}: {}", point.name, why_missing(objects, point.name)));
    }
  }
  support.available = support.missing.empty();
  return support;
}

domain::TierSupport unknown_tier(const std::string& why) {
  domain::TierSupport support;
  for (const Point& point : kPoints)
    support.missing.push_back(fmt::format("{}: {}", point.name, why));
  return support;
}

}  // namespace hearth::engine
