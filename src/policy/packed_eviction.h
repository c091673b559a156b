#pragma once
// Which packed weights go when they take more room than they may. Pure: no clock, no I/O.
//
// What a key is worth is the time that it saves at a start, for each byte it takes, halved for every week it was not
// used. The worth least go first, until the rest fits. Keys in use stay: their engines would be none the poorer, but
// the next start would be.
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"

namespace hearth::policy {

struct PackedItem {
  std::string key;
  base::Bytes bytes = 0;
  std::optional<double> pack_ms;  // how long making it took; unknown: as long as a typical one of its size
  base::Wall last_used;
  bool in_use = false;
};

struct PackedVictim {
  std::string key;
  base::Bytes bytes = 0;
  std::string why;  // with the numbers; for the event
};

// Milliseconds of a start that one byte saves now.
[[nodiscard]] double packed_worth(const PackedItem& item, base::Wall now);

[[nodiscard]] std::vector<PackedVictim> choose_packed_victims(std::vector<PackedItem> items, base::Bytes quota,
                                                              base::Wall now);

}  // namespace hearth::policy
