#pragma once
// Plain schedules: "weekdays 06:45: voice resident", "sat,sun 09:00-12:00: qwen3-4b resident".
//
//   DAYS TIME[-TIME]: WHO resident
// DAYS: daily, weekdays, weekend, or mon tue wed thu fri sat sun joined by commas. TIME: HH:MM of local time. Without
// an end it lasts one hour; an end before the start is on the next day. WHO: a model, or a class (all its models).
#include <bitset>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "domain/model.h"
#include "domain/model_id.h"

namespace hearth::config {

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

}  // namespace hearth::config
