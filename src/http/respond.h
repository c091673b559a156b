#pragma once
// Short ways to answer with JSON. A client that is gone by then is nobody's error: it is logged at debug level.
#include "domain/json.h"
#include "http/exchange.h"

namespace hearth::http {

// The reply that tells an error in the dialect's shape, with the status and Retry-After that it asks for.
[[nodiscard]] Reply error_reply(domain::Api api, const base::Error& error);

[[nodiscard]] rt::Task<void> respond_json(Exchange& exchange, unsigned status, domain::Json json);
[[nodiscard]] rt::Task<void> respond_error(Exchange& exchange, domain::Api api, base::Error error);

}  // namespace hearth::http
