#pragma once
// What Hearth reads of an OpenAI request body, and the body it sends to the engine instead. Pure.
//
// A streamed request goes on as the client wrote it, with `return_progress` put in front unless the client set it
// (answer_watch.h says why). A request that is not streamed is asked of the engine as a stream and put together again
// (answer_builder.h), because only then does the engine notice reliably that the client has left. The exception are log
// probabilities: the stream leaves out those of the final token, so such a request goes on as it is.
#include <string>
#include <string_view>

#include "base/result.h"
#include "domain/keep_alive.h"
#include "domain/model_id.h"

namespace hearth::http {

enum class Endpoint { chat, completions, embeddings };
// The path at the engine: "/v1/chat/completions" …
[[nodiscard]] std::string_view path_of(Endpoint endpoint);

struct RelayBody {
  domain::ModelId model;
  bool client_streams = false;                  // the client wants an event stream
  bool client_progress = false;                 // and its progress events
  std::string upstream;                         // JSON for the engine
  std::optional<domain::KeepAlive> keep_alive;  // Hearth's own field; it does not go on to the engine
};

// Errors: bad_request when `keep_alive` is not one, or when the body is not a JSON object, has no usable `model`, or
// `stream` is not a boolean.
[[nodiscard]] base::Result<RelayBody> plan_relay(Endpoint endpoint, std::string body);

}  // namespace hearth::http
