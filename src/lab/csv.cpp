#include "lab/csv.h"

#include <charconv>
#include <chrono>
#include <cmath>

#include "base/text.h"

namespace hearth::lab {
namespace {

// Reads exactly `digits` digits at the front, and moves on.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (error != std::errc() || end != text.data() + digits || value < 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::chrono::sys_days> take_date(std::string_view& text) {
  const auto year = take_number(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  return date.ok() ? std::optional(std::chrono::sys_days(date)) : std::nullopt;
}

std::optional<std::int64_t> take_time(std::string_view& text) {
  const auto hour = take_number(text, 2);
  if (!hour || !take(text, ':')) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || !take(text, ':')) return std::nullopt;
  const auto second = take_number(text, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return (std::int64_t{*hour} * 60 + *minute) * 60 + *second;
}

std::optional<std::int64_t> take_fraction_ns(std::string_view& text) {
  if (!take(text, '.')) return 0;
  std::int64_t ns = 0;
  std::int64_t unit = 100'000'000;
  bool any = false;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    ns += (text.front() - '0') * unit;
    unit /= 10;
    any = true;
    text.remove_prefix(1);
  }
  return any ? std::optional(ns) : std::nullopt;
}

// Seconds east of Greenwich.
std::optional<std::int64_t> take_zone(std::string_view text) {
  if (text.empty() || text == "Z" || text == " UTC" || text == " +0000 UTC") return 0;
  const bool west = text.front() == '-';
  if (text.front() != '+' && !west) return std::nullopt;
  text.remove_prefix(1);
  const auto hours = take_number(text, 2);
  (void)take(text, ':');
  const auto minutes = text.empty() ? std::optional(0) : take_number(text, 2);
  if (!hours || !minutes || !text.empty()) return std::nullopt;
  const std::int64_t offset = (std::int64_t{*hours} * 60 + *minutes) * 60;
  return west ? -offset : offset;
}

}  // namespace

std::vector<std::string> split_csv(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::optional<double> number_of(std::string_view text) {
  text = base::trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<std::int64_t> timestamp_of(std::string_view text) {
  text = base::trim(text);
  const auto date = take_date(text);
  if (!date || (!take(text, ' ') && !take(text, 'T'))) return std::nullopt;
  const auto time = take_time(text);
  if (!time) return std::nullopt;
  const auto fraction = take_fraction_ns(text);
  const auto zone = take_zone(text);
  if (!fraction || !zone) return std::nullopt;
  const std::int64_t days = date->time_since_epoch().count();
  if (days < 0 || days > 80'000) return std::nullopt;
  return (days * 86'400 + *time - *zone) * 1'000'000'000 + *fraction;
}

std::int64_t minute_since_monday(std::int64_t unix_ns) {
  constexpr std::int64_t kMinute = 60LL * 1'000'000'000;
  // The first of January 1970 was a Thursday.
  return unix_ns / kMinute + std::int64_t{3} * 24 * 60;
}

}  // namespace hearth::lab
