#pragma once
// What the schedules of the configuration say of a model at a moment (their form: config/schedule.h).
#include <optional>
#include <span>
#include <string>

#include "config/schedule.h"
#include "policy/demand.h"

namespace hearth::policy {

using config::Schedule;

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
