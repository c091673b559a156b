#include "sys/time_zone.h"

#include <ctime>

namespace hearth::sys {

LinuxTimeZone::LinuxTimeZone() { ::tzset(); }

std::chrono::seconds LinuxTimeZone::offset_at(base::Wall at) const {
  const std::time_t instant = base::Wall::clock::to_time_t(at);
  std::tm local{};
  if (::localtime_r(&instant, &local) == nullptr) return {};
  return std::chrono::seconds(local.tm_gmtoff);
}

}  // namespace hearth::sys
