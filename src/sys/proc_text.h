#pragma once
// The few text forms that /proc and /sys are made of (proc(5)). Pure. What does not parse is empty, never 0.
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace hearth::sys {

// What is used of /proc/PID/stat. The command in it may hold anything, brackets too; fields are counted from its end.
struct StatFields {
  char state = '?';
  std::uint64_t major_faults = 0;  // field 12
  std::uint64_t user_ticks = 0;    // field 14
  std::uint64_t system_ticks = 0;  // field 15
  std::uint64_t start_ticks = 0;   // field 22
};
[[nodiscard]] std::optional<StatFields> parse_stat(std::string_view text);

// The number after "name:" at the beginning of a line, as in meminfo, status, io, smaps_rollup; times 1024 when "kB"
// follows.
[[nodiscard]] std::optional<std::uint64_t> value_of(std::string_view text, std::string_view name);
// The number after "name " at the beginning of a line, as in vmstat.
[[nodiscard]] std::optional<std::uint64_t> counter_of(std::string_view text, std::string_view name);
// avg10 of the line "some" of a pressure file, percent.
[[nodiscard]] std::optional<double> some_avg10(std::string_view text);

// A whole text (white space around it allowed) that is one number.
template <typename Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}
// The number with which a text begins, after white space.
template <typename Number>
[[nodiscard]] std::optional<Number> leading_number(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::nullopt;
  Number number{};
  const auto [end, error] = std::from_chars(text.data() + first, text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

}  // namespace hearth::sys
