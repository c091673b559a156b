#include "base/bytes.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/text.h"

namespace hearth::base {
namespace {

std::optional<double> unit_factor(std::string_view unit) {
  constexpr std::string_view kPrefixes = "kmgt";
  if (unit.empty() || unit == "b") return 1.0;
  const auto power = kPrefixes.find(unit.front());
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = unit.substr(1);
  const auto exponent = static_cast<double>(power + 1);
  if (rest == "b") return std::pow(1000.0, exponent);
  if (rest == "ib" || rest.empty()) return std::pow(1024.0, exponent);
  return std::nullopt;
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  const std::string lower = to_lower(trim(text));
  double number = 0;
  const auto [end, error] =
      std::from_chars(lower.data(), lower.data() + lower.size(), number, std::chars_format::fixed);
  const auto factor = unit_factor(trim(std::string_view(lower).substr(static_cast<std::size_t>(end - lower.data()))));
  // 2^63 rather than 2^64: a double that is exactly 2^64 would not fit.
  const bool good = error == std::errc() && factor && number >= 0 && number * *factor < 9.2e18;
  if (!good)
    return fail(ErrorCode::bad_request,
                fmt::format("\"{}\" is not a size; write it like 1400MB, 1.5GiB or 4096", text));
  return static_cast<Bytes>(std::llround(number * *factor));
}

std::string format_bytes(Bytes bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  const bool fraction = unit > 0 && value < 99.95;
  return fmt::format("{:.{}f} {}", value, fraction ? 1 : 0, kUnits[unit]);
}

}  // namespace hearth::base
