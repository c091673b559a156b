// The large read-only mappings of files that the engine makes itself: where in which file a weight's bytes come from,
// and whether the engine may be spared reading the whole file.
//
// The engine asks the kernel to read a model file completely when it maps it. Where packed weights are there, most of
// that file is never looked at; its mapping is then made without reading ahead, and what is needed of it is read by
// reads.h. Should the packed weights be refused after all, read_ahead() gives the engine what it had asked for.
//
// Threads: any. Holds no more than kMax mappings; those beyond are simply not known.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "os.h"

namespace hearth::tier {

class EngineMaps {
 public:
  static constexpr std::size_t kSmallest = 1u << 20;  // bytes; smaller mappings are of no interest
  static constexpr std::size_t kMax = 32;

  struct Place {
    std::uint64_t device;
    std::uint64_t inode;
    std::uint64_t offset;  // in the file
  };

  /// From now on mappings are made without reading ahead. Called once before main().
  void spare() { sparing_.store(true, std::memory_order_release); }
  [[nodiscard]] bool sparing() const { return sparing_.load(std::memory_order_acquire); }

  /// The engine has mapped `bytes` of a file. `spared`: without the reading ahead it asked for. Replaces what lay
  /// there.
  void add(const void* at, std::size_t bytes, int fd, std::uint64_t offset, bool spared);
  /// True for the range of a spared mapping.
  [[nodiscard]] bool spared(const void* at) const;
  /// False when no known mapping holds the address.
  [[nodiscard]] bool locate(const void* at, Place& out) const;

  /// No mapping is spared from now on; those that were are read ahead.
  void read_ahead();

 private:
  struct Mapping {
    std::uintptr_t at;
    std::size_t bytes;  // 0 = free
    Place place;
    bool spared;
  };
  [[nodiscard]] const Mapping* find(const void* at) const;

  std::atomic<bool> sparing_{false};
  mutable os::Mutex mutex_;
  Mapping mappings_[kMax] = {};  // protected by mutex_
};

EngineMaps& engine_maps();

}  // namespace hearth::tier
