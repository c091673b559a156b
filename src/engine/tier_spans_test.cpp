#include "engine/tier_spans.h"

#include <gmock/gmock.h>

namespace hearth::engine {
namespace {

using namespace std::chrono_literals;
using testing::DoubleEq;
using testing::Optional;

base::Mono at(base::Duration since) { return base::Mono(1000s) + since; }

TierSpan span(TierSpanKind kind, base::Duration begin, base::Duration end) {
  return {.kind = kind, .thread = 1, .begin = at(begin), .end = at(end), .count = 0, .result = 0};
}

TEST(TierShare, EachKindIsItsOwnTime) {
  const std::vector spans = {span(TierSpanKind::kTokenize, 1ms, 3ms), span(TierSpanKind::kStateLoad, 3ms, 7ms),
                             span(TierSpanKind::kProcess, 10ms, 30ms), span(TierSpanKind::kProcess, 31ms, 41ms),
                             span(TierSpanKind::kProcess, 50ms, 60ms)};
  const auto share = tier_share(spans, at(0ms), at(45ms), at(100ms));
  EXPECT_THAT(share.tokenize_ms, Optional(DoubleEq(2)));
  EXPECT_THAT(share.prefill_ms, Optional(DoubleEq(30)));
  EXPECT_THAT(share.state_restore_ms, Optional(DoubleEq(4)));
}

TEST(TierShare, WhatLiesOutsideIsCutAndWhatOverlapsCountsOnce) {
  const std::vector spans = {span(TierSpanKind::kProcess, -10ms, 5ms), span(TierSpanKind::kProcess, 3ms, 8ms),
                             span(TierSpanKind::kProcess, 4ms, 6ms), span(TierSpanKind::kProcess, 18ms, 40ms)};
  EXPECT_THAT(tier_share(spans, at(0ms), at(20ms), at(50ms)).prefill_ms, Optional(DoubleEq(10)));
}

TEST(TierShare, WithoutAFirstTokenPrefillReachesTheEnd) {
  const std::vector spans = {span(TierSpanKind::kGraph, 0ms, 5ms), span(TierSpanKind::kGraph, 6ms, 90ms)};
  EXPECT_THAT(tier_share(spans, at(0ms), std::nullopt, at(10ms)).prefill_ms, Optional(DoubleEq(9)));
}

TEST(TierShare, NothingSeenIsUnknown) {
  const std::vector spans = {span(TierSpanKind::kTokenize, -10ms, 0ms), span(TierSpanKind::kModelLoad, 1ms, 2ms)};
  const auto share = tier_share(spans, at(0ms), at(5ms), at(9ms));
  EXPECT_FALSE(share.tokenize_ms);
  EXPECT_FALSE(share.prefill_ms);
  EXPECT_FALSE(share.state_restore_ms);
}

}  // namespace
}  // namespace hearth::engine
