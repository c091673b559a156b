#pragma once
// For the tests of commands: a world in which the clock, the environment and the terminal are the test's.
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "client/scripted_server.h"
#include "domain/json.h"

namespace hearth::cli {

class StillClock final : public base::Clock {
 public:
  [[nodiscard]] base::Mono now() const override { return now_; }
  [[nodiscard]] base::Wall wall() const override { return {}; }
  void advance(base::Duration span) { now_ += span; }

 private:
  base::Mono now_{std::chrono::hours(1)};
};

struct TestWorld {
  StillClock clock;
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  std::map<std::string, std::string> variables;
  int pauses = 1000;  // until a command is told to stop
  LocalCommands local;
  Console console{in,
                  out,
                  err,
                  clock,
                  [this](const char* name) -> std::optional<std::string> {
                    const auto found = variables.find(name);
                    return found == variables.end() ? std::nullopt : std::optional(found->second);
                  },
                  [this](std::chrono::milliseconds) { return pauses-- > 0; }};

  // `hearth` with these arguments.
  int run(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "hearth");
    return run_in(console, static_cast<int>(arguments.size()), arguments.data(), local);
  }
  void talk_to(const client::ScriptedServer& server) { variables["HEARTH_URL"] = server.url(); }
  // Standard output as the one JSON document it must be.
  [[nodiscard]] domain::Json json() const { return domain::Json::parse(out.str()); }
};

[[nodiscard]] inline client::ScriptedServer::Reply json_reply(int status, std::string body) {
  client::ScriptedServer::Reply reply;
  reply.status = status;
  reply.body = std::move(body);
  return reply;
}

// A small MODEL: warm in some layers, cold or unknown in others.
inline constexpr const char* kReadyModel = R"({
  "id": "qwen3-4b:q4_k_m", "engine": "llama-server", "class": "interactive", "pinned": false, "state": "ready", "failure": null,
  "layers": {
    "artifact": {"state": "warm", "bytes": 2497280256, "total": 2497280256, "verified": true},
    "pages": {"state": "partial", "bytes": 703000000, "total": 2497280256},
    "packed": {"state": null, "bytes": null, "total": null, "key": null},
    "process": {"state": "warm", "pid": 4711, "started_at": "2026-01-31T08:15:30.123Z"},
    "weights": {"state": "warm", "bytes": 2497280256, "total": 2497280256, "locked": null},
    "device": {"state": "cold", "bytes": 0, "total": 0},
    "kernels": {"state": null}, "prefix": {"state": null}},
  "memory": {"reserved": 3300000000, "measured": 3100000000, "estimated": 3300000000},
  "keep": {"until": "2026-01-31T09:15:30.123Z", "source": "request", "votes": [
    {"owner": "ann at 10.0.0.2", "keep_alive": "1h", "source": "request", "until": "2026-01-31T09:15:30.123Z"}]},
  "ready_in_ms": {"estimate": 0, "basis": "it is ready"},
  "last_used_at": "2026-01-31T08:20:00.000Z", "requests": 12,
  "details": {"architecture": "qwen3", "quantisation": "Q4_K_M", "parameters": 4022468096, "context_length": 40960}})";
inline constexpr const char* kFailedModel = R"({
  "id": "mini", "state": "failed", "failure": {"reason": "the engine ended with status 1", "at": "2026-01-31T08:15:30.123Z", "retry_at": null},
  "layers": {"artifact": {"state": "warm", "bytes": 4000000, "total": 4000000}}})";

inline constexpr const char* kRequest = R"({
  "id": "req-1", "model": "mini", "api": "openai", "class": "interactive", "status": 200, "error": null,
  "started_at": "2026-01-31T08:15:30.123Z", "ttft_ms": 412.0, "total_ms": 981.3,
  "tokens": {"prompt": 120, "cached": 96, "generated": 30}, "decode_tokens_per_s": 41.2,
  "stages": [{"stage": "process_start", "start_ms": 0.0, "ms": 400.0, "critical_ms": 400.0, "bytes": null, "source": "hearth"},
             {"stage": "prefill", "start_ms": 400.0, "ms": 12.0, "critical_ms": 12.0, "bytes": null, "source": "engine"},
             {"stage": "decode", "start_ms": 412.0, "ms": 569.3, "critical_ms": 569.3, "bytes": null, "source": "engine"}],
  "before": {}, "cause": null, "host": {}})";

}  // namespace hearth::cli
