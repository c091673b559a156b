// What the engine reads of its model file when its packed weights are there, learnt from one load and read ahead at the
// next start (docs/packed-format.md, "What is read of the model file").
//
// Threads: learn() from any engine thread; the rest before main() and on the library's thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine_maps.h"
#include "os.h"
#include "page_vector.h"

namespace hearth::tier {

struct ReadExtent {
  std::uint64_t offset;
  std::uint64_t bytes;
};

struct ReadsHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t count;
  std::uint64_t model_bytes;
  std::uint32_t entries_sum;
  std::uint32_t header_sum;
};
static_assert(sizeof(ReadsHeader) == 32 && sizeof(ReadExtent) == 16);

inline constexpr std::uint32_t kReadsVersion = 1;
inline constexpr std::uint32_t kMaxReads = 1u << 20;
inline constexpr char kReadsName[] = "model.reads";

/// Sorts, joins what touches or nearly does, and rounds to pages. Pure.
void join_reads(PageVector<ReadExtent>& extents, std::uint64_t model_bytes);
/// False for anything that is not exactly one sound list for a model of this size. Pure.
[[nodiscard]] bool check_reads(const ReadsHeader& header, const ReadExtent* extents, std::uint64_t file_bytes,
                               std::uint64_t model_bytes);

class Reads {
 public:
  /// Opens the model and the list that was kept for it in `folder`. True when there is a sound one.
  [[nodiscard]] bool open(const char* model, int folder);
  /// Reads what the list says on a thread of its own.
  void begin();
  /// Bytes at `at` were or will be used at a start with packed weights.
  void learn(const void* at, std::size_t bytes);
  /// Keeps what was learnt, once. Everything in front of the first byte learnt is the file's head, and part of it.
  void keep();

 private:
  static void* read_thread(void* reads);
  void read_extent(const ReadExtent& extent);

  int model_ = -1;   // constant after open()
  int folder_ = -1;  // of the store; constant after open()
  EngineMaps::Place identity_{};
  std::uint64_t model_bytes_ = 0;
  PageVector<ReadExtent> known_;
  os::Mutex mutex_;
  PageVector<ReadExtent> learnt_;  // protected by mutex_
  bool learning_ = false;          // protected by mutex_
};

Reads& reads();

}  // namespace hearth::tier
