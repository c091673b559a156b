#pragma once
// Reading JSON from a server without trusting its shape: what is not there, or of another type, is nothing.
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "domain/json.h"

namespace hearth::cli {

// The value below these keys, or null.
[[nodiscard]] inline const domain::Json& at_path(const domain::Json& json,
                                                 std::initializer_list<std::string_view> keys) {
  static const domain::Json kNull;
  const domain::Json* here = &json;
  for (const auto key : keys) {
    if (!here->is_object()) return kNull;
    const auto found = here->find(key);
    if (found == here->end()) return kNull;
    here = &*found;
  }
  return *here;
}
[[nodiscard]] inline std::optional<std::string> text_at(const domain::Json& json,
                                                        std::initializer_list<std::string_view> keys) {
  const auto& value = at_path(json, keys);
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}
[[nodiscard]] inline std::optional<std::uint64_t> count_at(const domain::Json& json,
                                                           std::initializer_list<std::string_view> keys) {
  const auto& value = at_path(json, keys);
  return value.is_number_unsigned() ? std::optional(value.get<std::uint64_t>()) : std::nullopt;
}
[[nodiscard]] inline std::optional<double> number_at(const domain::Json& json,
                                                     std::initializer_list<std::string_view> keys) {
  const auto& value = at_path(json, keys);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}
[[nodiscard]] inline bool is_true_at(const domain::Json& json, std::initializer_list<std::string_view> keys) {
  const auto& value = at_path(json, keys);
  return value.is_boolean() && value.get<bool>();
}

}  // namespace hearth::cli
