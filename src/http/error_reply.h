#pragma once
// How an error leaves over HTTP: one table from code to status, and the body in the shape of the dialect. Pure.
#include <optional>
#include <string>

#include "base/result.h"
#include "domain/request.h"

namespace hearth::http {

[[nodiscard]] unsigned status_of(base::ErrorCode code);

// OpenAI: {"error": {"message", "type", "param", "code"}}; native: {"error": {"code", "message", "details"}}; Ollama:
// {"error": message}.
[[nodiscard]] std::string error_body(domain::Api api, const base::Error& error);

// The Retry-After value in whole seconds, at least 1; present when the error carries a hint.
[[nodiscard]] std::optional<std::string> retry_after_of(const base::Error& error);

}  // namespace hearth::http
