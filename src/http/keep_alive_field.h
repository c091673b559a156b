#pragma once
// The field `keep_alive` of a request body, in any dialect. Pure.
#include <nlohmann/json.hpp>
#include <optional>

#include "domain/keep_alive.h"

namespace hearth::http {

// Empty when it is absent or null. Errors: bad_request, naming the forms that are understood.
template <typename Json>
[[nodiscard]] base::Result<std::optional<domain::KeepAlive>> keep_alive_in(const Json& body) {
  const auto field = body.find("keep_alive");
  if (field == body.end() || field->is_null()) return std::nullopt;
  if (field->is_string()) return domain::parse_keep_alive(field->template get_ref<const std::string&>());
  if (field->is_number()) return domain::keep_alive_of_seconds(field->template get<double>());
  return std::unexpected(domain::keep_alive_of_wrong_type(field->is_boolean() ? "a boolean" : "a list or an object"));
}

}  // namespace hearth::http
