#pragma once
// Models for the tests of the policies.
#include <string_view>

#include "policy/eviction.h"

namespace hearth::policy::test {

inline constexpr base::Bytes kGB = 1'000'000'000;

inline base::Mono at(double s) {
  return base::Mono(std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(100'000 + s)));
}
inline domain::ModelId id_of(std::string_view text) { return domain::ModelId::parse(text).value(); }

// Serving with `gb`, hibernated with a tenth of it; waking takes half a second per GB, a start two seconds more.
inline Held model_of(std::string_view name, double gb, Rung rung = Rung::serving) {
  const auto bytes = static_cast<base::Bytes>(gb * 1e9);
  Held held{.id = id_of(name), .rung = rung};
  held.ladder = {{Rung::serving, Footprint::host(bytes), 0},
                 {Rung::hibernated, Footprint::host(bytes / 10), gb / 2},
                 {Rung::cold, {}, 2 + gb / 2}};
  held.since = at(-1000);
  held.last_used = at(-100);
  held.reuse = 0.5;
  return held;
}

inline EvictionAsk lacking(base::Bytes bytes, std::string_view newcomer = "newcomer",
                           domain::ServiceClass service_class = domain::ServiceClass::interactive) {
  return {.newcomer = {id_of(newcomer), service_class}, .lacking = Footprint::host(bytes)};
}

}  // namespace hearth::policy::test
