// The rows of embedding matrices that a batch will look up, asked for before the engine computes.
//
// A matrix that the engine uses in place, from its mapping of the model file, is read row by row: one row for each
// token of a prompt, each of them a page fault of its own when its page is not in memory. Faults come one after the
// other, and behind everything a wake has asked the disk for meanwhile; asked for together, they cost one wait. This is
// a hint: a wrong token or a matrix that is gone costs a read or nothing.
//
// Threads: any. No memory is taken, nothing is waited for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "os.h"

namespace hearth::tier {

class TokenRows {
 public:
  static constexpr std::size_t kMatrices = 4;  // beyond: the oldest is forgotten
  static constexpr const char* kName = "token_embd.weight";

  struct Range {
    std::uintptr_t at;  // a multiple of os::kPage
    std::size_t bytes;
  };

  /// A matrix of `rows` rows lies at `at`. Again for the same place: replaced. Sizes that make no rows: nothing.
  void note(const void* at, std::size_t bytes, std::int64_t rows);
  /// Asks for the rows of the last `count` tokens of the process, in every matrix; at most kTokensKept of them.
  void read_ahead(std::uint64_t count);
  /// The pages of row `token`; no bytes when there is no such row. Pure.
  [[nodiscard]] static Range row(const void* at, std::size_t row_bytes, std::int64_t rows, std::int32_t token);

 private:
  struct Matrix {
    const void* at;
    std::size_t row_bytes;
    std::int64_t rows;
  };
  os::Mutex mutex_;
  Matrix matrices_[kMatrices] = {};  // protected by mutex_
  std::size_t next_ = 0;             // protected by mutex_
};

TokenRows& token_rows();

}  // namespace hearth::tier
