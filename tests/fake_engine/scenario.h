#pragma once
// fake_engine: a program that answers llama-server's HTTP API without a model, and misbehaves on request.
//
// It takes llama-server's flags as Hearth passes them: -m FILE, --alias NAME, --host ADDRESS|PATH.sock, --port N, -c N,
// -np N (request slots, default 4); any other flag is accepted and ignored, so `fake_engine --anything` runs. Like the
// real one it refuses a socket path that exists, does not remove it at exit, listens before it is ready (503 "Loading
// model"), dies of SIGTERM while it loads, and exits 0 on SIGTERM afterwards.
//
// GET  /health /v1/models /props            POST /v1/chat/completions /v1/completions /v1/embeddings /tokenize
//                                       /detokenize /apply-template
// Streams: [prompt_progress chunks when return_progress], a role chunk, one chunk per token, the finish chunk, [a usage
// chunk when asked], data: [DONE]; `timings` on the last JSON chunk. A prompt that repeats the beginning of the one
// before counts those words as cached. A streamed request whose client leaves is noticed at the next token; a plain one
// within a second, and only while no other request runs (as measured on the real engine).
//
// What it does is set by a JSON object in the file $FAKE_ENGINE_SCENARIO; each field also by an environment variable of
// its own, $FAKE_ENGINE_LOAD_MS and so on, which wins. What happened is appended to $FAKE_ENGINE_LOG, see journal.h.
// The flags --fake-scenario FILE and --fake-log FILE name those files too, for a server that gives its engines an
// environment of their own; they win.
#include <cstdint>
#include <optional>
#include <string>

namespace hearth::fake_engine {

// A point in the life of the process: "start" (before it listens), "loading" (after half of load_ms), "ready"
// (moment_ms after it became ready), "token:N" (before the Nth token of any answer, counted from 1), "prefill". Empty:
// never.
struct Moment {
  std::string where;
  int token = 0;
};

struct Scenario {
  int load_ms = 0;     // from listening to ready
  int listen_ms = 0;   // from exec to listening
  int prefill_ms = 0;  // for the words of a prompt that are not cached
  int token_ms = 0;    // per token
  int tokens = 8;      // of an answer, unless max_tokens (or n_predict) says fewer
  Moment crash_at;     // ends there: with status 1, or by crash_signal
  int crash_signal = 0;
  int crash_starts = 0;  // only the first so many starts crash (counted in the log); 0: all
  int moment_ms = 0;
  Moment stall_at;                // stops doing anything there, without ending
  bool ignore_term = false;       // SIGTERM does nothing
  bool fork_child = false;        // starts a child of its own that holds its output and sleeps
  bool busy = false;              // burns processor time while it loads
  std::uint64_t claim_bytes = 0;  // memory taken and touched while loading
  std::string log_lines;          // said on stderr at the start, before anything can crash; "\n" between lines
};

// From the file named `path`, or by the environment where it is empty, and the environment. A scenario that cannot be
// read is a mistake of the test: the program ends with status 2 and says so.
Scenario read_scenario(const std::string& path);

// The flags of the command line that matter.
struct Flags {
  std::string model;
  std::string alias = "fake";
  std::string host = "127.0.0.1";
  int port = 8080;
  int slots = 4;
  std::optional<int> context;
  std::string scenario;  // "": by the environment
  std::string log;
};
Flags read_flags(int argc, char** argv);

}  // namespace hearth::fake_engine
