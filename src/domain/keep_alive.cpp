#include "domain/keep_alive.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/text.h"

namespace hearth::domain {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t ns;
};
constexpr std::array kUnits = {
    Unit{"ns", 1},          Unit{"us", 1'000},        Unit{"\u00b5s", 1'000},  // micro sign
    Unit{"\u03bcs", 1'000},                                                    // Greek mu
    Unit{"ms", 1'000'000},  Unit{"s", 1'000'000'000}, Unit{"m", 60'000'000'000}, Unit{"h", 3'600'000'000'000},
};
constexpr std::uint64_t kMostNs = std::numeric_limits<std::int64_t>::max();

constexpr std::string_view kForms =
    "send seconds as a number (300; 0 unloads, negative is forever) or a duration with units such as \"5m\", \"1h30m\" "
    "or "
    "\"300ms\" (\"-1\" is forever)";

base::Error not_understood(std::string_view what) {
  return {base::ErrorCode::bad_request, "keep_alive cannot be " + std::string(what) + "; " + std::string(kForms)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The text from `begin` up to the next digit or point.
std::string_view unit_at_front(std::string_view rest) {
  std::size_t length = 0;
  while (length < rest.size() && rest[length] != '.' && !is_digit(rest[length]))
    ++length;
  return rest.substr(0, length);
}

// A number at the front of a text: its whole part, and its fraction as fraction / scale.
struct Number {
  std::uint64_t whole = 0;
  std::uint64_t fraction = 0;
  double scale = 1;
};

std::optional<Number> take_number(std::string_view& rest) {
  Number number;
  bool any = false;
  for (; !rest.empty() && is_digit(rest.front()); rest.remove_prefix(1), any = true) {
    if (number.whole > kMostNs / 10) return std::nullopt;
    number.whole = number.whole * 10 + static_cast<std::uint64_t>(rest.front() - '0');
  }
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    for (; !rest.empty() && is_digit(rest.front()); rest.remove_prefix(1), any = true) {
      if (number.fraction > (kMostNs - 9) / 10) continue;  // digits too small to matter
      number.fraction = number.fraction * 10 + static_cast<std::uint64_t>(rest.front() - '0');
      number.scale *= 10;
    }
  }
  if (!any) return std::nullopt;
  return number;
}

// Takes one "1.5h" off the front of `rest`.
std::optional<std::uint64_t> take_part(std::string_view& rest) {
  const auto number = take_number(rest);
  if (!number) return std::nullopt;
  const std::string_view name = unit_at_front(rest);
  for (const auto& unit : kUnits) {
    if (unit.name != name) continue;
    rest.remove_prefix(name.size());
    if (number->whole > kMostNs / unit.ns) return std::nullopt;
    const double fraction = static_cast<double>(number->fraction) * (static_cast<double>(unit.ns) / number->scale);
    const std::uint64_t ns = number->whole * unit.ns + static_cast<std::uint64_t>(fraction);
    if (ns > kMostNs) return std::nullopt;
    return ns;
  }
  return std::nullopt;
}

std::optional<KeepAlive> parse(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return KeepAlive{base::Duration::zero()};
  if (negative && text == "1") return KeepAlive::forever();
  std::uint64_t total = 0;
  do {
    const auto part = take_part(text);
    if (!part || *part > kMostNs - total) return std::nullopt;
    total += *part;
  } while (!text.empty());
  if (negative && total > 0) return KeepAlive::forever();
  return KeepAlive{base::Duration(static_cast<std::int64_t>(total))};
}

// "1.5" of 1.5 units.
std::string decimal(std::int64_t ns, std::int64_t unit) {
  std::string text = std::to_string(ns / unit);
  std::string fraction = std::to_string(unit + ns % unit).substr(1);
  while (!fraction.empty() && fraction.back() == '0')
    fraction.pop_back();
  return fraction.empty() ? text : text + "." + fraction;
}

}  // namespace

base::Result<KeepAlive> parse_keep_alive(std::string_view text) {
  if (const auto parsed = parse(text)) return *parsed;
  return std::unexpected(not_understood("\"" + base::printable(text, 40) + "\""));
}

base::Result<KeepAlive> keep_alive_of_seconds(double seconds) {
  if (std::isnan(seconds)) return std::unexpected(not_understood("NaN"));
  const double ns = seconds * 1e9;
  if (seconds < 0 || ns >= static_cast<double>(kMostNs)) return KeepAlive::forever();
  return KeepAlive{base::Duration(static_cast<std::int64_t>(ns))};
}

base::Error keep_alive_of_wrong_type(std::string_view what) { return not_understood(what); }

bool outlasts(const KeepAlive& one, const KeepAlive& other) {
  if (other.is_forever()) return false;
  return one.is_forever() || *one.span > *other.span;
}

std::string_view name_of(KeepSource source) {
  switch (source) {
    case KeepSource::request:
      return "request";
    case KeepSource::config:
      return "config";
    case KeepSource::api:
      return "api";
    case KeepSource::pin:
      return "pin";
    case KeepSource::schedule:
      return "schedule";
    case KeepSource::demand:
      return "demand";
  }
  return "";
}

std::string text_of(const KeepAlive& keep_alive) {
  if (keep_alive.is_forever()) return "forever";
  std::int64_t left = keep_alive.span->count();
  if (left == 0) return "0s";
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::string text;
  for (const auto& [name, unit] : {std::pair{"h", 3600 * kSecond}, {"m", 60 * kSecond}}) {
    if (left >= unit) text += std::to_string(left / unit) + name;
    left %= unit;
  }
  if (left >= kSecond) return text + decimal(left, kSecond) + "s";
  if (left >= 1'000'000) return text + decimal(left, 1'000'000) + "ms";
  if (left > 0) return text + std::to_string(left) + "ns";
  return text;
}

}  // namespace hearth::domain
