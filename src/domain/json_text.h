#pragma once
// JSON as text. Bytes that are not UTF-8 become U+FFFD: what clients, files and engines say must not make telling it
// fail.
#include <nlohmann/json.hpp>
#include <string>

namespace hearth::domain {

// On one line, or indented by so many spaces. `json`: of any of nlohmann's types.
template <typename AnyJson>
[[nodiscard]] std::string text_of(const AnyJson& json, int indent = -1) {
  return json.dump(indent, ' ', false, AnyJson::error_handler_t::replace);
}

}  // namespace hearth::domain
