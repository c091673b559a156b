#pragma once
// What the world is told about one model (native API: MODEL).
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "domain/keep_alive.h"
#include "domain/layer.h"
#include "domain/model_id.h"

namespace hearth::domain {

enum class ModelState { absent, fetching, cold, starting, hibernated, ready, busy, stopping, failed };
[[nodiscard]] std::string_view name_of(ModelState state);
[[nodiscard]] std::optional<ModelState> model_state_named(std::string_view name);

enum class ServiceClass { voice, interactive, background };
[[nodiscard]] std::string_view name_of(ServiceClass service_class);
[[nodiscard]] std::optional<ServiceClass> service_class_named(std::string_view name);

struct Failure {
  std::string reason;
  base::Wall at;
  std::optional<base::Wall> retry_at;  // empty: nothing is held back, the next request tries again
};

// Beginnings of prompts that are held for a model.
struct PrefixHeld {
  std::uint64_t tokens_memory = 0;  // in the slots of the running engine
  std::uint64_t tokens_disk = 0;
  base::Bytes bytes_disk = 0;
};

// When a model is expected to be used, and what became of loads that came before anybody had asked.
struct ExpectedUse {
  double reuse = 0;  // probability that it is used within the horizon, as learnt
  double horizon_ms = 0;
  std::optional<base::Wall> next;  // when it is to be warm next though nobody has asked; empty: nothing is known
  std::optional<std::string> why;  // who says so: a schedule as it is written, or "learnt"
  std::uint64_t prewarms = 0;      // loads that nobody waited for
  std::uint64_t used = 0;          // of these, used in time
  std::uint64_t wasted = 0;        // of these, not
};

// What the class of a model is promised of its first token after a start from nothing.
struct ColdStart {
  double expected_ms = 0;
  std::optional<double> limit_ms;  // of its class; empty: any cold start is accepted
  bool kept = true;                // false: the limit cannot be kept, and a cold start of that length is accepted
  std::string why;                 // one clause
};

// All of it is owned by whoever asked; a snapshot, already stale when read.
struct ModelView {
  ModelId id;
  std::string engine;
  ServiceClass service_class = ServiceClass::interactive;
  bool pinned = false;
  ModelState state = ModelState::cold;
  std::optional<Failure> failure;
  LayerReadings layers;
  bool artifact_verified = false;
  std::optional<std::string> packed_key;
  std::optional<PrefixHeld> prefix;
  std::optional<int> pid;
  std::optional<base::Wall> process_started_at;
  std::optional<base::Bytes> memory_reserved;   // promised to it now; empty: nothing is
  std::optional<base::Bytes> memory_measured;   // resident bytes of the engine process
  std::optional<base::Bytes> memory_estimated;  // what it is expected to take when it serves
  // Its weights do not fit into memory: what the last request read again for each of its tokens. Empty: they fit, or
  // nothing is known.
  std::optional<base::Bytes> reread_per_token;
  Keep keep;
  std::optional<ExpectedUse> expected = std::nullopt;
  std::optional<ColdStart> cold_start = std::nullopt;
  // It and others push each other out: who, what they need, and who is kept on purpose. Empty: it does not.
  std::optional<std::string> thrashing = std::nullopt;
  std::optional<double> ready_in_ms;  // estimate of the time until a request can be sent to the engine
  std::string ready_basis;            // where the estimate comes from, for people
  std::optional<base::Wall> last_used_at;
  std::uint64_t requests = 0;
  std::uint64_t evictions = 0;        // how often its memory was taken for another model or for the machine
  std::optional<std::string> digest;  // SHA-256 of the file, in hexadecimal
  std::optional<base::Wall> imported_at;
  std::optional<unsigned> context;  // tokens of context that the configuration gives it; empty: the engine's choice
  std::optional<std::uint64_t> request_context = std::nullopt;  // that one request has in the engine that runs
  // What the file says of itself; empty where it does not.
  std::optional<std::string> architecture;
  std::optional<std::string> quantisation;
  std::optional<std::uint64_t> parameters;
  std::optional<std::uint64_t> context_length;
};

}  // namespace hearth::domain
