#include "policy/schedule.h"

namespace hearth::policy {
namespace {

constexpr int kMinutesPerDay = 24 * 60;

// How many minutes ago the latest time of this schedule began, looking back a week; and how many until the next one.
struct Distance {
  std::optional<int> ago;
  std::optional<int> until;
};

Distance distance_of(const Schedule& schedule, std::int64_t local_minute) {
  const auto in_week = static_cast<int>(((local_minute % kMinutesPerWeek) + kMinutesPerWeek) % kMinutesPerWeek);
  Distance distance;
  for (int day = 0; day < 7; ++day) {
    if (!schedule.days.test(static_cast<std::size_t>(day))) continue;
    const int begins = day * kMinutesPerDay + schedule.from_minute;
    const int week = static_cast<int>(kMinutesPerWeek);
    const int ago = (in_week - begins + week) % week;
    const int until = week - ago;
    if (!distance.ago || ago < *distance.ago) distance.ago = ago;
    if (!distance.until || until < *distance.until) distance.until = until;
  }
  return distance;
}

}  // namespace

ScheduledTime scheduled(std::span<const Schedule> schedules, const domain::ModelId& id,
                        domain::ServiceClass service_class, const Moment& now) {
  ScheduledTime best;
  for (const Schedule& schedule : schedules) {
    if (!schedule.applies_to(id, service_class)) continue;
    const auto [ago, until] = distance_of(schedule, now.local_minute);
    if (ago && *ago < schedule.minutes) {
      const base::Mono ends = now.at + std::chrono::minutes(schedule.minutes - *ago);
      if (!best.active || ends > best.until) best = {.active = true, .until = ends, .text = schedule.text};
    } else if (until && !best.active) {
      const base::Mono begins = now.at + std::chrono::minutes(*until);
      if (!best.next || begins < *best.next) best = {.next = begins, .text = schedule.text};
    }
  }
  return best;
}

}  // namespace hearth::policy
