#pragma once
// Judges which interposition points of libhearth_tier.so an engine has, from the symbol tables of its objects. Pure.
#include <span>
#include <string>

#include "domain/engine_info.h"
#include "engine/locate.h"

namespace hearth::engine {

// A point that the tier stands in for is there when some engine object reaches it by a dynamic relocation; a point that
// the tier only calls is there when some object offers it. `missing` entries are "NAME: why". `objects` is what
// locate_objects returned: the program first.
[[nodiscard]] domain::TierSupport judge_tier(std::span<const LinkedObject> objects);

// Nothing is known of the engine's symbols: all points are missing, for that reason.
[[nodiscard]] domain::TierSupport unknown_tier(const std::string& why);

}  // namespace hearth::engine
