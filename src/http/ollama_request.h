#pragma once
// What Hearth reads of the body of Ollama's /api/generate and /api/chat, and what it asks of the engine for it. Pure.
//
// Source: Ollama 0.12, server/routes.go and api/types.go. A chat, and a prompt that is not raw, go to the engine's chat
// endpoint, which applies the model's own template; a raw prompt goes to its completions endpoint as it is, a prompt
// with a `suffix` to its infill endpoint. Everything is asked as a stream, for then the engine notices that its client
// has left. No prompt at all is a wish to load the model, with `keep_alive` 0 to unload it.
//
// Not done: `template`, which is written in Go's language and would have to be run here, is refused with the mend.
// `truncate` and `shift` are left out: a prompt that is too long is the engine's error, never cut silently.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "domain/keep_alive.h"
#include "domain/model_id.h"

namespace hearth::http {

enum class OllamaCall { generate, chat };

struct OllamaRequest {
  enum class Wish { answer, load, unload };
  OllamaCall call = OllamaCall::generate;
  Wish wish = Wish::answer;
  std::string model;  // as the client wrote it
  bool stream = true;
  bool thinks = false;  // `think` asks for it, which needs a model that can
  std::optional<domain::KeepAlive> keep_alive;

  std::string path;                        // at the engine
  nlohmann::ordered_json upstream;         // its body
  std::optional<std::int64_t> context;     // num_ctx
  bool repeat_over_context = false;        // repeat_last_n is to be the size of the context
  std::vector<std::int64_t> prior_tokens;  // `context` of an earlier answer: what was said before
  bool returns_context = false;            // the answer carries such tokens
};

// Errors: bad_request, in Ollama's words where it has words for it.
[[nodiscard]] base::Result<OllamaRequest> read_ollama_request(OllamaCall call, std::string_view body);

// The stored models that a name may mean, the likeliest first: as it is, then with or without the tag "latest", which
// Ollama's clients add and leave out. The default host and namespace are left out. Empty: no model can be called so.
[[nodiscard]] std::vector<domain::ModelId> models_named(std::string_view name);
// The name of a stored model as Ollama's clients know it: always with a tag.
[[nodiscard]] std::string ollama_name(const domain::ModelId& id);

}  // namespace hearth::http
