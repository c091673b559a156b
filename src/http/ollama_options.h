#pragma once
// The `options` of an Ollama request, as fields of llama-server. Pure.
//
// Ollama's defaults differ from the engine's, so the sampling fields are always sent: temperature 0.8, top_k 40, top_p
// 0.9, min_p 0, typical_p 1, repeat_penalty 1, repeat_last_n 64. What is known and cannot be done per request (num_gpu,
// num_batch, num_thread, …) is checked and left out: the configuration decides it. Unknown options are left out, as
// Ollama does.
#include <nlohmann/json.hpp>
#include <optional>

#include "base/result.h"

namespace hearth::http {

struct OllamaOptions {
  nlohmann::ordered_json fields = nlohmann::ordered_json::object();  // for the engine
  std::optional<std::int64_t> context;                               // num_ctx: what the client hopes to have
  bool repeat_over_context = false;  // repeat_last_n -1: the whole context; the engine wants its size instead
};

// `options` may be null. Errors: bad_request, for a known option of the wrong type.
[[nodiscard]] base::Result<OllamaOptions> read_ollama_options(const nlohmann::ordered_json& options);

}  // namespace hearth::http
