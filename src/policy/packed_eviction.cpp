#include "policy/packed_eviction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hearth::policy {
namespace {

constexpr double kTypicalMsPerByte = 1e-6;  // a second for a gigabyte
constexpr double kHalfLifeDays = 7;

double idle_days(const PackedItem& item, base::Wall now) {
  return std::max(0.0, std::chrono::duration<double, std::ratio<86400>>(now - item.last_used).count());
}

}  // namespace

double packed_worth(const PackedItem& item, base::Wall now) {
  if (item.bytes == 0) return 0;
  const double per_byte = item.pack_ms ? *item.pack_ms / static_cast<double>(item.bytes) : kTypicalMsPerByte;
  return per_byte * std::exp2(-idle_days(item, now) / kHalfLifeDays);
}

std::vector<PackedVictim> choose_packed_victims(std::vector<PackedItem> items, base::Bytes quota, base::Wall now) {
  base::Bytes held = 0;
  for (const auto& item : items)
    held += item.bytes;
  const base::Bytes before = held;
  std::ranges::stable_sort(items, {}, [now](const PackedItem& item) { return packed_worth(item, now); });
  std::vector<PackedVictim> victims;
  for (const auto& item : items) {
    if (held <= quota) break;
    if (item.in_use) continue;
    victims.push_back({item.key, item.bytes,
                       fmt::format("packed weights take {} of {}; these saved the least time for their size and were "
                                   "last used {:.1f} days ago",
                                   base::format_bytes(before), base::format_bytes(quota), idle_days(item, now))});
    held -= item.bytes;
  }
  return victims;
}

}  // namespace hearth::policy
