#include "config/duration.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace hearth::config {
namespace {

struct Unit {
  std::string_view name;
  double ms;
};
// Longest name first where one begins another.
constexpr std::array kUnits = {Unit{"ms", 1}, Unit{"s", 1e3}, Unit{"m", 60e3}, Unit{"h", 3600e3}, Unit{"d", 86400e3}};
constexpr double kLongestMs = 10 * 366 * 86400e3;

std::unexpected<base::Error> not_a_duration(std::string_view text) {
  return base::fail(
      base::ErrorCode::bad_request,
      fmt::format("\"{}\" is not a duration; write it like 30s, 5m, 1h30m or 90 (seconds), at most ten years",
                  base::printable(text, 40)));
}

// Takes one "1.5h" off the front of `rest`; empty when there is none. A bare number is taken for seconds when `alone`.
std::optional<double> take_part(std::string_view& rest, bool alone) {
  double number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
  if (error != std::errc() || number < 0 || !std::isfinite(number)) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  if (rest.empty() && alone) return number * 1e3;
  for (const auto& unit : kUnits) {
    if (!rest.starts_with(unit.name)) continue;
    rest.remove_prefix(unit.name.size());
    return number * unit.ms;
  }
  return std::nullopt;
}

}  // namespace

base::Result<Milliseconds> parse_duration(std::string_view text) {
  const std::string lower = base::to_lower(base::trim(text));
  std::string_view rest = lower;
  double total = 0;
  do {
    const auto part = take_part(rest, rest.size() == lower.size());
    if (!part) return not_a_duration(text);
    total += *part;
  } while (!rest.empty());
  if (total > kLongestMs) return not_a_duration(text);
  return Milliseconds(std::llround(total));
}

base::Result<Milliseconds> duration_of_seconds(double seconds) {
  const bool good = std::isfinite(seconds) && seconds >= 0 && seconds * 1e3 <= kLongestMs;
  if (!good) return not_a_duration(fmt::format("{}", seconds));
  return Milliseconds(std::llround(seconds * 1e3));
}

base::Result<KeepAlive> parse_keep_alive(std::string_view text) {
  const std::string_view trimmed = base::trim(text);
  if (base::to_lower(trimmed) == "forever") return KeepAlive{};
  const bool negative = trimmed.starts_with('-');
  auto span = parse_duration(negative ? trimmed.substr(1) : trimmed);
  if (!span) {
    return base::fail(
        base::ErrorCode::bad_request,
        fmt::format("\"{}\" is not a keep-alive; write it like 5m, 1h30m, 0 or forever (or any negative number)",
                    base::printable(text, 40)));
  }
  if (negative && span->count() != 0) return KeepAlive{};
  return KeepAlive{*span};
}

base::Result<KeepAlive> keep_alive_of_seconds(double seconds) {
  if (seconds < 0) return KeepAlive{};
  auto span = duration_of_seconds(seconds);
  if (!span) return base::pass(span);
  return KeepAlive{*span};
}

std::string format_duration(Milliseconds span) {
  std::string text;
  auto left = span.count();
  for (const auto& [name, ms] : {std::pair{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}}) {
    if (left >= ms) text += fmt::format("{}{}", left / ms, name);
    left %= ms;
  }
  return text.empty() ? "0s" : text;
}

}  // namespace hearth::config
