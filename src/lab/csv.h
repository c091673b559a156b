#pragma once
// One line of comma-separated text (RFC 4180 without line breaks inside quotes).
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::lab {

// The fields, unquoted; a carriage return at the end is dropped.
[[nodiscard]] std::vector<std::string> split_csv(std::string_view line);
// A whole, finite number; empty for anything else ("", "null", "nan").
[[nodiscard]] std::optional<double> number_of(std::string_view text);
// Nanoseconds since 1970 of "2023-11-16 18:15:46.6805900", "2024-05-10T00:00:00.009930+00:00", with or without fraction
// and zone. Empty for anything else.
[[nodiscard]] std::optional<std::int64_t> timestamp_of(std::string_view text);
// Minutes since a Monday 00:00 UTC of an instant after 1970.
[[nodiscard]] std::int64_t minute_since_monday(std::int64_t unix_ns);

}  // namespace hearth::lab
