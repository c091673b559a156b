#pragma once
// Ollama's dialect (docs/http-api.md): the calls that carry keep_alive, and those by which its clients find a server
// and its models.
//
// Source: Ollama 0.12, server/routes.go and api/types.go.
#include "http/ollama_relay.h"
#include "http/router.h"

namespace hearth::http {

// The version of Ollama's API that is spoken here; clients read it as three numbers.
inline constexpr std::string_view kOllamaVersion = "0.12.10";

// /api/generate, /api/chat, /api/tags, /api/ps, /api/show, /api/version and `/`. The ports must outlive the router.
void add_ollama_routes(Router& router, OllamaRelay& relay, ModelShelf& shelf, const base::Clock& clock);

}  // namespace hearth::http
