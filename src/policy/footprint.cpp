#include "policy/footprint.h"

#include <functional>
#include <numeric>

namespace hearth::policy {
namespace {

template <typename Operation>
Footprint place_by_place(const Footprint& left, const Footprint& right, Operation operation) {
  Footprint out;
  std::ranges::transform(left.at, right.at, out.at.begin(), operation);
  return out;
}

}  // namespace

base::Bytes Footprint::total() const { return std::accumulate(at.begin(), at.end(), base::Bytes{0}); }

bool Footprint::fits_in(const Footprint& room) const { return std::ranges::equal(at, room.at, std::less_equal<>()); }

Footprint& Footprint::operator+=(const Footprint& more) { return *this = place_by_place(*this, more, std::plus<>()); }

Footprint Footprint::less(const Footprint& taken) const {
  return place_by_place(*this, taken, [](base::Bytes from, base::Bytes take) { return from > take ? from - take : 0; });
}

Footprint Footprint::at_most(const Footprint& bound) const {
  return place_by_place(*this, bound, [](base::Bytes left, base::Bytes right) { return std::min(left, right); });
}

Footprint Footprint::at_least(const Footprint& bound) const {
  return place_by_place(*this, bound, [](base::Bytes left, base::Bytes right) { return std::max(left, right); });
}

std::string format(const Footprint& footprint) {
  std::string text = base::format_bytes(footprint.host());
  for (std::size_t place = 1; place < kPlaces; ++place) {
    if (footprint.at[place] == 0) continue;
    text += " and " + base::format_bytes(footprint.at[place]) + " on device " + std::to_string(place);
  }
  return text;
}

}  // namespace hearth::policy
