#pragma once
// Small things done to ASCII text.
#include <string>
#include <string_view>
#include <vector>

namespace hearth::base {

[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::string to_lower(std::string_view text);
// The pieces between separators, empty ones included; "" gives one empty piece.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);
// Text from outside, fit for one log line or terminal row: control characters become '?', cut at `most` bytes with "…".
[[nodiscard]] std::string printable(std::string_view text, std::size_t most);

}  // namespace hearth::base
