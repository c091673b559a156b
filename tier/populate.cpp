#include "populate.h"

#include <errno.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "os.h"

namespace hearth::tier {
namespace {

constexpr unsigned kMaxReaders = 16;

struct Work {
  const PageVector<Extent>* extents;
  std::size_t chunk;
  std::atomic<std::uint64_t> next{0};  // index of the next chunk over all extents
  std::atomic<bool> stop{false};
  std::atomic<int> error{0};
};

// Pieces lie at multiples of their size: two readers in one large page would wait for each other.
std::uint64_t chunks_of(const Extent& extent, std::size_t chunk) {
  return (extent.at + extent.bytes - 1) / chunk - extent.at / chunk + 1;
}

/// The part of the extents that chunk number `index` stands for; false behind the end.
bool locate(const Work& work, std::uint64_t index, Extent& out) {
  for (const Extent& extent : *work.extents) {
    const std::uint64_t count = chunks_of(extent, work.chunk);
    if (index >= count) {
      index -= count;
      continue;
    }
    const std::uintptr_t piece = (extent.at / work.chunk + index) * work.chunk;
    const std::uintptr_t begin = std::max(extent.at, piece);
    out = {begin, std::min(extent.at + extent.bytes, piece + work.chunk) - begin, extent.order};
    return true;
  }
  return false;
}

void read_chunks(Work& work, bool (*stop)()) {
  Extent part{};
  while (!work.stop.load() && locate(work, work.next.fetch_add(1), part)) {
    const int error = os::populate(reinterpret_cast<void*>(part.at), part.bytes);
    if (error != 0) {
      work.error.store(error);
      work.stop.store(true);
    }
    if (stop != nullptr && stop()) {
      work.error.store(ECANCELED);
      work.stop.store(true);
    }
  }
}

void* reader(void* argument) {
  read_chunks(*static_cast<Work*>(argument), nullptr);
  return nullptr;
}

}  // namespace

bool add_extent(PageVector<Extent>& extents, std::uintptr_t at, std::size_t bytes, std::int64_t order) {
  const std::uintptr_t begin = at / os::kPage * os::kPage;
  return extents.push({begin, os::round_up(at + bytes - begin, os::kPage), order});
}

void sort_extents(PageVector<Extent>& extents) {
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.order != b.order ? a.order < b.order : a.at < b.at; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < extents.size(); ++i) {
    Extent& last = extents[kept];
    const bool touches = extents[i].at <= last.at + last.bytes + os::kPage;
    if (extents[i].order == last.order && touches) {
      last.bytes = std::max(last.at + last.bytes, extents[i].at + extents[i].bytes) - last.at;
    } else {
      extents[++kept] = extents[i];
    }
  }
  if (!extents.empty()) (void)extents.resize(kept + 1);  // only ever shrinks
}

int populate_extents(const PageVector<Extent>& extents, unsigned readers, std::size_t chunk, bool (*stop)()) {
  Work work;
  work.extents = &extents;
  work.chunk = chunk;
  pthread_t threads[kMaxReaders];
  unsigned started = 0;
  while (started + 1 < readers && started < kMaxReaders && os::start_thread(&threads[started], reader, &work) == 0) {
    ++started;
  }
  read_chunks(work, stop);
  for (unsigned i = 0; i < started; ++i)
    ::pthread_join(threads[i], nullptr);
  return work.error.load();
}

}  // namespace hearth::tier
