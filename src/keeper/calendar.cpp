#include "keeper/calendar.h"

namespace hearth::keeper {

policy::Moment Calendar::at(base::Wall wall) const {
  // 1970 began on a Thursday; the week that counts begins on a Monday.
  constexpr std::int64_t kThursday = 3 * 24 * 60;
  const base::Wall local = zone_ == nullptr ? wall : wall + zone_->offset_at(wall);
  const auto minutes = std::chrono::floor<std::chrono::minutes>(local.time_since_epoch()).count();
  const auto away = std::chrono::duration_cast<base::Duration>(wall - clock_->wall());
  return {.at = clock_->now() + away, .local_minute = minutes + kThursday};
}

}  // namespace hearth::keeper
