#include "token_rows.h"

#include <string.h>

#include <algorithm>

#include "jumps.h"

extern "C" {
constinit std::uint64_t hearth_tier_batch_tokens = 0;
constinit std::int32_t hearth_tier_batch_ids[hearth::tier::kTokensKept] = {};
}

namespace hearth::tier {
namespace {
constinit TokenRows the_rows;
}

TokenRows& token_rows() { return the_rows; }

TokenRows::Range TokenRows::row(const void* at, std::size_t row_bytes, std::int64_t rows, std::int32_t token) {
  if (token < 0 || token >= rows) return {0, 0};
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(at) + static_cast<std::size_t>(token) * row_bytes;
  const std::uintptr_t page = begin / os::kPage * os::kPage;
  return {page, os::round_up(begin + row_bytes - page, os::kPage)};
}

void TokenRows::note(const void* at, std::size_t bytes, std::int64_t rows) {
  if (rows <= 0 || bytes < static_cast<std::size_t>(rows)) return;
  const os::Guard guard(mutex_);
  std::size_t place = next_;
  for (std::size_t i = 0; i < kMatrices; ++i) {
    if (matrices_[i].at == at) place = i;
  }
  matrices_[place] = {at, bytes / static_cast<std::size_t>(rows), rows};
  if (place == next_) next_ = (next_ + 1) % kMatrices;
}

void TokenRows::read_ahead(std::uint64_t count) {
  Matrix matrices[kMatrices];
  {
    const os::Guard guard(mutex_);
    std::copy(std::begin(matrices_), std::end(matrices_), std::begin(matrices));
  }
  const std::uint64_t end = __atomic_load_n(&hearth_tier_batch_tokens, __ATOMIC_RELAXED);
  for (std::uint64_t i = end - std::min({count, end, kTokensKept}); i != end; ++i) {
    const std::int32_t token = __atomic_load_n(&hearth_tier_batch_ids[i % kTokensKept], __ATOMIC_RELAXED);
    for (const Matrix& matrix : matrices) {
      const Range range = row(matrix.at, matrix.row_bytes, matrix.rows, token);
      if (range.bytes > 0) os::read_ahead(reinterpret_cast<void*>(range.at), range.bytes);
    }
  }
}

}  // namespace hearth::tier
