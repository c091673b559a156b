#pragma once
// The least cold-start time with which a trace could have been served by somebody who knew the future, loading only
// when somebody asks (no warming ahead).
//
// Dynamic programming over what is held after each start of a busy period. A model's busy period lasts from a request
// that finds it idle until its last one is over; requests inside it cost nothing. States that cannot lead to a better
// end than another are dropped: A makes B needless when cost(A) plus what A would have to load to become B is at most
// cost(B). Exact while at most `most_states` remain at every step; beyond that the cheapest are kept, and the answer is
// the cost of a schedule that exists, hence no less than the optimum. Busy periods take the time they take on a warm
// engine, and what does not fit beside busy models is let through: both only make the optimum smaller.
#include <cstdint>

#include "lab/trace.h"
#include "policy/footprint.h"

namespace hearth::lab {

struct Optimum {
  double cold_start_s = 0;
  bool exact = true;
  std::uint64_t busy_periods = 0;
  std::size_t most_states = 0;
};

inline constexpr std::size_t kMostOptimumModels = 32;

// With every rung (costs.h). REQUIRES: at most kMostOptimumModels models.
[[nodiscard]] Optimum offline_optimum(const Trace& trace, const policy::Footprint& memory, const CostModel& costs,
                                      std::size_t most_states = 4000);

}  // namespace hearth::lab
