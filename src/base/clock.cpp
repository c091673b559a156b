#include "base/clock.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace hearth::base {

double to_ms(Duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

Duration from_ms(double ms) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(ms));
}

std::string rfc3339(Wall instant) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(instant);
  const auto millis = std::chrono::floor<std::chrono::milliseconds>(instant - whole).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(whole)), millis);
}

}  // namespace hearth::base
