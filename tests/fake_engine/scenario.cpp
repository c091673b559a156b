#include "tests/fake_engine/scenario.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

namespace hearth::fake_engine {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& why) {
  std::cerr << "fake_engine: " << why << '\n';
  std::exit(2);
}

// The fields as JSON: the file's, overridden by the environment's (a text that is JSON counts as that, else as a
// string).
json gather(std::string path, const std::initializer_list<const char*>& names) {
  json fields = json::object();
  if (const char* given = std::getenv("FAKE_ENGINE_SCENARIO"); path.empty() && given != nullptr) path = given;
  if (!path.empty()) {
    std::ifstream file(path);
    fields = json::parse(file, nullptr, false);
    if (!fields.is_object()) refuse("no JSON object in the scenario " + path);
  }
  for (const std::string name : names) {
    std::string variable = "FAKE_ENGINE_";
    for (const char c : name)
      variable += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const char* const text = std::getenv(variable.c_str());
    if (text == nullptr) continue;
    const auto value = json::parse(text, nullptr, false);
    fields[name] = value.is_discarded() ? json(text) : value;
  }
  return fields;
}

Moment parse_moment(const std::string& text) {
  constexpr std::string_view kToken = "token:";
  if (!text.starts_with(kToken)) return {text, 0};
  return {"token", std::atoi(text.c_str() + kToken.size())};
}

}  // namespace

Scenario read_scenario(const std::string& path) {
  const auto fields = gather(
      path, {"load_ms", "listen_ms", "prefill_ms", "token_ms", "tokens", "crash_at", "crash_signal", "crash_starts",
             "moment_ms", "stall_at", "ignore_term", "fork_child", "busy", "claim_bytes", "log_lines"});
  Scenario scenario;
  try {
    scenario.load_ms = fields.value("load_ms", scenario.load_ms);
    scenario.listen_ms = fields.value("listen_ms", scenario.listen_ms);
    scenario.prefill_ms = fields.value("prefill_ms", scenario.prefill_ms);
    scenario.token_ms = fields.value("token_ms", scenario.token_ms);
    scenario.tokens = fields.value("tokens", scenario.tokens);
    scenario.crash_at = parse_moment(fields.value("crash_at", ""));
    scenario.crash_signal = fields.value("crash_signal", 0);
    scenario.crash_starts = fields.value("crash_starts", 0);
    scenario.moment_ms = fields.value("moment_ms", 0);
    scenario.stall_at = parse_moment(fields.value("stall_at", ""));
    scenario.ignore_term = fields.value("ignore_term", false);
    scenario.fork_child = fields.value("fork_child", false);
    scenario.busy = fields.value("busy", false);
    scenario.claim_bytes = fields.value("claim_bytes", std::uint64_t{0});
    scenario.log_lines = fields.value("log_lines", "");
  } catch (const json::exception& error) {
    refuse(std::string("a field of the scenario has the wrong type: ") + error.what());
  }
  return scenario;
}

Flags read_flags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i + 1 < argc; ++i) {
    const std::string_view name = argv[i];
    const char* const value = argv[i + 1];
    if (name == "-m" || name == "--model")
      flags.model = value;
    else if (name == "-a" || name == "--alias")
      flags.alias = value;
    else if (name == "--host")
      flags.host = value;
    else if (name == "--port")
      flags.port = std::atoi(value);
    else if (name == "-np" || name == "--parallel")
      flags.slots = std::atoi(value);
    else if (name == "-c" || name == "--ctx-size")
      flags.context = std::atoi(value);
    else if (name == "--fake-scenario")
      flags.scenario = value;
    else if (name == "--fake-log")
      flags.log = value;
  }
  return flags;
}

}  // namespace hearth::fake_engine
