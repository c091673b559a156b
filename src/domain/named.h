#pragma once
// Looking an enumerator up by the name that its own name_of gives, so that each vocabulary is written once.
#include <algorithm>
#include <optional>
#include <string_view>

namespace hearth::domain {

template <typename Values>
[[nodiscard]] auto find_named(const Values& values, std::string_view name)
    -> std::optional<typename Values::value_type> {
  const auto found = std::ranges::find_if(values, [name](auto value) { return name_of(value) == name; });
  if (found == values.end()) return std::nullopt;
  return *found;
}

}  // namespace hearth::domain
