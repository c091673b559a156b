#include "keeper/cold_start.h"

#include <fmt/format.h>

namespace hearth::keeper {

domain::ColdStart cold_start_of(const policy::ColdStartPromise& promise, std::optional<base::Duration> limit,
                                policy::Rung rung) {
  domain::ColdStart cold{
      .expected_ms = promise.cold_ttft_s * 1000, .limit_ms = std::nullopt, .kept = promise.kept, .why = promise.reason};
  if (limit) cold.limit_ms = base::to_ms(*limit);
  if (limit && promise.kept && promise.keep_warm && rung > promise.floor) {
    cold.kept = false;
    cold.why =
        fmt::format("a cold start of {:.1f} s is accepted, more than its {:.1f} s: it is {} and would have to be {}",
                    promise.cold_ttft_s, *cold.limit_ms / 1000, name_of(rung), name_of(promise.floor));
  }
  return cold;
}

}  // namespace hearth::keeper
