// Brings mapped ranges into memory with several reader threads, in a given order, until done or told to stop.
#pragma once

#include <cstddef>
#include <cstdint>

#include "page_vector.h"

namespace hearth::tier {

struct Extent {
  std::uintptr_t at;
  std::size_t bytes;
  std::int64_t order;  // smaller first
};

/// Appends a range, widened to whole pages.
[[nodiscard]] bool add_extent(PageVector<Extent>& extents, std::uintptr_t at, std::size_t bytes, std::int64_t order);

/// Sorts by order, then address, and joins neighbours of the same order.
void sort_extents(PageVector<Extent>& extents);

/// Reads all extents with `readers` threads (the caller is one of them), `chunk` bytes a call. `stop` is polled between
/// chunks by the caller only. Returns 0 or the first errno; ECANCELED when stopped.
[[nodiscard]] int populate_extents(const PageVector<Extent>& extents, unsigned readers, std::size_t chunk,
                                   bool (*stop)());

}  // namespace hearth::tier
