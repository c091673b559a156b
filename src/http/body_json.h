#pragma once
// A request's body as a JSON object. Pure.
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/result.h"

namespace hearth::http {

// Keeps the client's order of keys. Errors: bad_request when it is not JSON, not an object, or nested deeper than any
// request is (200 levels; printing such a value again would be recursive).
[[nodiscard]] base::Result<nlohmann::ordered_json> parse_body(std::string_view body);

}  // namespace hearth::http
