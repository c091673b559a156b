#pragma once
// How far local time is from UTC, as the people who live here count it. Behind a seam because it changes twice a year.
#include <chrono>

#include "base/clock.h"

namespace hearth::sys {

class TimeZone {
 public:
  virtual ~TimeZone() = default;
  // Local time less UTC at that instant. Zero where the system has no zone.
  [[nodiscard]] virtual std::chrono::seconds offset_at(base::Wall at) const = 0;
};

// The zone of the machine: TZ, else /etc/localtime, as they are when this is made.
class LinuxTimeZone final : public TimeZone {
 public:
  LinuxTimeZone();
  [[nodiscard]] std::chrono::seconds offset_at(base::Wall at) const override;
};

}  // namespace hearth::sys
