#pragma once
// The instant that it is, as the policies want it: on the monotonic clock, and in the week of the people who live here.
//
// A value; any thread. The clock and the zone outlive it.
#include "base/clock.h"
#include "policy/demand.h"
#include "sys/time_zone.h"

namespace hearth::keeper {

class Calendar {
 public:
  // `zone` null: UTC.
  Calendar(const base::Clock& clock, const sys::TimeZone* zone) : clock_(&clock), zone_(zone) {}

  [[nodiscard]] policy::Moment now() const { return at(clock_->wall()); }
  // An instant on the wall clock, on the monotonic one by how far it is from now.
  [[nodiscard]] policy::Moment at(base::Wall wall) const;
  [[nodiscard]] policy::Moment in(base::Duration span) const {
    return at(clock_->wall() + std::chrono::duration_cast<base::Wall::duration>(span));
  }

 private:
  const base::Clock* clock_;
  const sys::TimeZone* zone_;
};

}  // namespace hearth::keeper
