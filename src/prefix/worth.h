#pragma once
// What a stored state is worth, for eviction. Pure.
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "prefix/record.h"

namespace hearth::prefix {

struct WorthFacts {
  std::size_t tokens = 0;
  std::optional<double> prefill_ms_per_token;  // empty: taken as kUnmeasuredMsPerToken
  base::Bytes bytes = 0;
  std::int64_t uses = 0;
  std::int64_t idle_ms = 0;  // since the last use, or since it was saved
};

// A slow machine's prefill, for states whose own was never measured.
inline constexpr double kUnmeasuredMsPerToken = 5;

// Expected milliseconds saved, per byte kept: tokens x ms per token x reuse / bytes, where reuse is the uses, halved
// for each week without one, and a half for what is yet to come.
[[nodiscard]] double worth_per_byte(const WorthFacts& facts);

}  // namespace hearth::prefix
