#pragma once
// One request, as it was observed and as it is told (native API: REQUEST).
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "domain/layer.h"
#include "domain/model.h"
#include "domain/stage.h"

namespace hearth::domain {

enum class Api { openai, ollama, anthropic, native };
[[nodiscard]] std::string_view name_of(Api api);
[[nodiscard]] std::optional<Api> api_named(std::string_view name);

// An engine start, on Hearth's clock. A request may have waited for all of it, for a part (it came later), or for none.
struct StartObservation {
  base::Mono spawned;                   // just before the process was made
  std::optional<base::Mono> listening;  // its first HTTP answer: the process is up, the model is loading
  std::optional<base::Mono> ready;      // its health endpoint said ok
  // How long its loading thread slept on storage between spawned and ready: wall time less time running and time
  // waiting for a processor (/proc/PID/schedstat), counted only where bytes were read. Empty where the kernel does not
  // say.
  std::optional<base::Duration> blocked_on_storage;
  std::optional<base::Bytes> bytes_read;  // from storage, /proc/PID/io read_bytes
  std::optional<std::uint64_t> major_faults;
  std::optional<std::string> flags;  // what Hearth added to the engine's flags, each with its reason
};

// What the probe in the engine timed for this request; empty where it saw nothing of the kind. In ms.
struct ProbeTimes {
  std::optional<double> tokenize_ms;
  std::optional<double> prefill_ms;
  std::optional<double> restore_ms;  // a prompt prefix's state copied in
};

// llama-server's own `timings` object; times in ms as it prints them.
struct EngineTimings {
  std::int64_t cached_tokens = 0;     // cache_n
  std::int64_t prompt_tokens = 0;     // prompt_n: evaluated now, without the cached ones
  double prompt_ms = 0;               // from the slot taking the task up to the first sampled token
  std::int64_t generated_tokens = 0;  // predicted_n
  double generated_ms = 0;            // from the first sampled token
};

// What the kernel counted for the engine process while the request ran (shared by requests that ran together).
struct ProcessDelta {
  base::Bytes bytes_read = 0;
  std::uint64_t major_faults = 0;
};

// What was done for the beginning of the prompt between the engine being ready and the request being sent. Instants
// that never came stay empty.
struct PrefixObservation {
  std::optional<base::Mono> template_began;  // asked the engine to render the prompt
  std::optional<base::Mono> tokenize_began;
  std::optional<base::Mono> tokenized;
  std::optional<base::Mono> restore_began;  // a stored state was looked over and read in
  std::optional<base::Mono> restored;
  std::int64_t restored_tokens = 0;  // of the prompt, in that state
  base::Bytes restored_bytes = 0;
  std::optional<double> saved_ms;  // prefill that the state made unnecessary, less what restoring it took; once used
  // What kept most of the prompt from being reused, when that is known: "your prompt changes at token 41: a clock …".
  std::optional<std::string> broken;
  std::optional<double> broken_ms;  // what it cost
};

struct HostReading {
  std::optional<double> cpu_mhz;
  std::optional<double> gpu_mhz;
  std::optional<double> load;                   // one-minute load average
  std::optional<double> psi_memory_some_avg10;  // percent
  std::optional<base::Bytes> swap_in_bytes;     // since the request came
};

// The raw observations of one request. Instants that never came stay empty.
struct RequestObservation {
  std::string id;
  std::optional<ModelId> model;
  Api api = Api::openai;
  ServiceClass service_class = ServiceClass::interactive;
  int status = 0;
  std::optional<std::string> error;

  base::Wall started_at;
  base::Mono received;                      // head of the request complete
  std::optional<base::Mono> asked;          // body read and understood; asks for the model
  std::optional<base::Mono> admitted;       // an engine is ready for it
  std::optional<base::Mono> sent;           // all of it written to the engine
  std::optional<base::Mono> prefill_began;  // the engine's first prompt_progress
  std::optional<base::Mono> first_token;    // first content (or reasoning, or tool call) seen from the engine
  base::Mono finished;                      // last byte handed to the client's socket
  std::optional<StartObservation> start;    // the engine start it waited for
  std::optional<ColdStart> cold_start;      // what its class was promised, where a start was paid or a limit not kept
  bool engine_was_busy = false;             // other requests held every slot when it was sent
  std::optional<EngineTimings> timings;
  std::optional<ProbeTimes> probe;  // only when no other request ran on this engine meanwhile
  PrefixObservation prefix;
  std::optional<ProcessDelta> process;
  LayerReadings before;
  HostReading host;
};

struct StageSpan {
  Stage stage = Stage::other;
  double start_ms = 0;     // from received
  double ms = 0;           // its whole span
  double critical_ms = 0;  // its share of the critical path
  std::optional<base::Bytes> bytes;
  Source source = Source::hearth;
  std::optional<std::int64_t> tokens;  // prefix_restore only
  std::optional<double> saved_ms;      // prefix_restore only
};

enum class Confidence { measured, inferred };
[[nodiscard]] std::string_view name_of(Confidence confidence);
[[nodiscard]] std::optional<Confidence> confidence_named(std::string_view name);

enum class RemedyAction { pin, keep_longer, prefetch, pages_headroom, packed, kernels, prefix, quantise, accept };
[[nodiscard]] std::string_view name_of(RemedyAction action);
[[nodiscard]] std::optional<RemedyAction> remedy_action_named(std::string_view name);

struct Remedy {
  RemedyAction action = RemedyAction::accept;
  std::string detail;
  std::optional<double> saves_ms;
};

struct CausalEvent {
  std::string event;
  std::string at;  // RFC 3339
  std::optional<std::string> by;
  std::optional<std::string> for_whom;
};

// The layer whose miss cost the most of the TTFT.
struct Cause {
  Layer layer = Layer::process;
  double ms = 0;
  double share = 0;  // of TTFT, 0..1
  Confidence confidence = Confidence::inferred;
  std::vector<CausalEvent> because;
  std::optional<base::Bytes> bytes_read;
  std::optional<std::uint64_t> major_faults;
  Remedy remedy;
};

struct TokenCounts {
  std::int64_t prompt = 0;  // all tokens of the prompt, cached ones included
  std::int64_t cached = 0;
  std::int64_t generated = 0;
};

struct RequestRecord {
  std::string id;
  std::optional<std::string> model;
  Api api = Api::openai;
  ServiceClass service_class = ServiceClass::interactive;
  int status = 0;
  std::optional<std::string> error;
  std::string started_at;         // RFC 3339
  std::optional<double> ttft_ms;  // empty when no token came
  double total_ms = 0;
  std::optional<TokenCounts> tokens;
  std::optional<double> decode_tokens_per_s;
  std::vector<StageSpan> stages;  // every stage, in order
  LayerReadings before;
  std::optional<Cause> cause;              // empty when no layer missed
  std::optional<std::string> start_flags;  // of the engine start it waited for: StartObservation::flags
  std::optional<ColdStart> cold_start;     // as observed
  HostReading host;
};

}  // namespace hearth::domain
