#pragma once
// What was probably meant by a name that is not known.
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hearth::config {

// The candidate with the fewest edits (insert, delete, replace, swap of neighbours), when they are few for its length.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view name,
                                                      std::span<const std::string_view> candidates);
// What follows "unknown key "listn"": "; did you mean "listen"? allowed: listen, data_dir".
[[nodiscard]] std::string advice(std::string_view name, std::span<const std::string_view> allowed,
                                 std::string_view heading = "allowed");

}  // namespace hearth::config
