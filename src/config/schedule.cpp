#include "config/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace hearth::config {
namespace {

constexpr int kMinutesPerDay = 24 * 60;
constexpr std::array<std::string_view, 7> kDays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

std::unexpected<base::Error> refuse(std::string_view text, std::string_view what) {
  return base::fail(base::ErrorCode::bad_request,
                    fmt::format("the schedule \"{}\" has no {}; the form is \"weekdays 06:45: voice resident\" or "
                                "\"sat,sun 09:00-12:00: MODEL resident\"",
                                base::printable(text, 80), what));
}

std::optional<std::bitset<7>> parse_days(std::string_view text) {
  if (text == "daily") return std::bitset<7>("1111111");
  if (text == "weekdays") return std::bitset<7>("0011111");
  if (text == "weekend") return std::bitset<7>("1100000");
  std::bitset<7> days;
  for (const std::string_view part : base::split(text, ',')) {
    const auto found = std::ranges::find(kDays, part);
    if (found == kDays.end()) return std::nullopt;
    days.set(static_cast<std::size_t>(found - kDays.begin()));
  }
  return days;
}

std::optional<int> parse_two_digits(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.size() != 2 || error != std::errc() || end != text.data() + 2 || value < 0 || value > most)
    return std::nullopt;
  return value;
}

std::optional<int> parse_time(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  const auto hour = parse_two_digits(text.substr(0, 2), 23);
  const auto minute = parse_two_digits(text.substr(3), 59);
  if (!hour || !minute) return std::nullopt;
  return *hour * 60 + *minute;
}

bool parse_times(std::string_view text, Schedule& into) {
  const auto parts = base::split(text, '-');
  if (parts.size() > 2) return false;
  const auto from = parse_time(parts[0]);
  if (!from) return false;
  into.from_minute = *from;
  if (parts.size() == 1) return true;
  const auto to = parse_time(parts[1]);
  if (!to || *to == *from) return false;
  into.minutes = (*to - *from + kMinutesPerDay) % kMinutesPerDay;
  return true;
}

std::vector<std::string_view> words_of(std::string_view text) {
  auto words = base::split(text, ' ');
  std::erase_if(words, [](std::string_view word) { return word.empty(); });
  return words;
}

}  // namespace

bool Schedule::applies_to(const domain::ModelId& id, domain::ServiceClass of_class) const {
  return model ? *model == id : service_class == of_class;
}

base::Result<Schedule> parse_schedule(std::string_view text) {
  const auto words = words_of(text);
  Schedule schedule{.text = std::string(base::trim(text))};
  const auto days = words.empty() ? std::nullopt : parse_days(words[0]);
  if (!days) return refuse(text, "days that are known (daily, weekdays, weekend, mon … sun)");
  schedule.days = *days;
  if (words.size() < 2 || !words[1].ends_with(':') || !parse_times(words[1].substr(0, words[1].size() - 1), schedule))
    return refuse(text, "time (HH:MM or HH:MM-HH:MM, then a colon)");
  if (words.size() != 4 || words[3] != "resident") return refuse(text, "\"WHO resident\" at its end");
  schedule.service_class = domain::service_class_named(words[2]);
  if (schedule.service_class) return schedule;
  auto model = domain::ModelId::parse(words[2]);
  if (!model) return base::pass(model, "the schedule \"" + base::printable(text, 80) + "\"");
  schedule.model = std::move(*model);
  return schedule;
}

}  // namespace hearth::config
