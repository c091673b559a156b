#pragma once
// Plain schedules: "weekdays 06:45: voice resident", "sat,sun 09:00-12:00: qwen3-4b resident".
//
//   DAYS TIME[-TIME]: WHO resident
// DAYS: daily, weekdays, weekend, or mon tue wed thu fri sat sun joined by commas. TIME: HH:MM of local time. Without
// an end it lasts one hour; an end before the start is on the next day. WHO: a model, or a class (all its models).
#include <bitset>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "domain/model.h"
#include "domain/model_id.h"
#include "policy/demand.h"

namespace hearth::policy {

struct Schedule {
  std::bitset<7> days;  // Monday first
  int from_minute = 0;  // of the day
  int minutes = 60;     // how long
  std::optional<domain::ModelId> model;
  std::optional<domain::ServiceClass> service_class;
  std::string text;  // as written

  [[nodiscard]] bool applies_to(const domain::ModelId& id, domain::ServiceClass of_class) const;
};

// Errors: bad_request, with what was not understood and the form.
[[nodiscard]] base::Result<Schedule> parse_schedule(std::string_view text);

struct ScheduledTime {
  bool active = false;
  base::Mono until = {};                          // active: when it ends
  std::optional<base::Mono> next = std::nullopt;  // otherwise: when it begins next
  std::string text;                               // the schedule that says so
};
// What the schedules say of this model now.
[[nodiscard]] ScheduledTime scheduled(std::span<const Schedule> schedules, const domain::ModelId& id,
                                      domain::ServiceClass service_class, const Moment& now);

}  // namespace hearth::policy
