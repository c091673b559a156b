#pragma once
// The OpenAI dialect's routes: chat/completions, completions and embeddings go to an engine, models is answered here.
#include "http/ports.h"
#include "http/relay.h"
#include "http/router.h"

namespace hearth::http {

// Everything must outlive the router.
void add_openai_routes(Router& router, Relay& relay, ModelShelf& shelf);

}  // namespace hearth::http
