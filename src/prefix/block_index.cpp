#include "prefix/block_index.h"

#include <algorithm>

namespace hearth::prefix {

void BlockIndex::add_unsorted(std::uint32_t id, std::span<const std::uint64_t> chain) {
  for (const std::uint64_t hash : chain)
    places_.push_back({hash, id});
}

void BlockIndex::finish_adding() { std::ranges::sort(places_); }

void BlockIndex::add(std::uint32_t id, std::span<const std::uint64_t> chain) {
  const auto old = static_cast<std::ptrdiff_t>(places_.size());
  add_unsorted(id, chain);
  std::sort(places_.begin() + old, places_.end());
  std::inplace_merge(places_.begin(), places_.begin() + old, places_.end());
}

void BlockIndex::remove(std::uint32_t id, std::span<const std::uint64_t> chain) {
  std::vector<Place> gone;
  for (const std::uint64_t hash : chain)
    gone.push_back({hash, id});
  std::ranges::sort(gone);
  std::erase_if(places_, [&](const Place& place) { return std::ranges::binary_search(gone, place); });
}

// Whoever has a block has all before it, so the deepest shared one is found by halving.
BlockIndex::Deepest BlockIndex::find(std::span<const std::uint64_t> chain, std::size_t most) const {
  const auto first_with = [&](std::uint64_t hash) { return std::ranges::lower_bound(places_, hash, {}, &Place::hash); };
  const auto shared = std::ranges::partition_point(chain, [&](std::uint64_t hash) {
    const auto place = first_with(hash);
    return place != places_.end() && place->hash == hash;
  });
  Deepest deepest{.blocks = static_cast<std::size_t>(shared - chain.begin()), .ids = {}};
  if (deepest.blocks == 0) return deepest;
  const std::uint64_t hash = chain[deepest.blocks - 1];
  for (auto place = first_with(hash); place != places_.end() && place->hash == hash && deepest.ids.size() < most;
       ++place)
    deepest.ids.push_back(place->id);
  return deepest;
}

}  // namespace hearth::prefix
