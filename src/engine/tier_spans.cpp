#include "engine/tier_spans.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace hearth::engine {
namespace {

// Time covered by the spans of these kinds between begin and end.
std::optional<double> covered_ms(std::span<const TierSpan> spans, std::initializer_list<TierSpanKind> kinds,
                                 base::Mono begin, base::Mono end) {
  std::vector<std::pair<base::Mono, base::Mono>> pieces;
  for (const auto& span : spans) {
    if (std::ranges::find(kinds, span.kind) == kinds.end() || span.begin >= end || span.end <= begin) continue;
    pieces.emplace_back(std::max(span.begin, begin), std::min(span.end, end));
  }
  if (pieces.empty()) return std::nullopt;
  std::ranges::sort(pieces);
  base::Duration covered{};
  auto reached = begin;
  for (const auto& [from, to] : pieces) {
    if (to <= reached) continue;
    covered += to - std::max(from, reached);
    reached = to;
  }
  return base::to_ms(covered);
}

}  // namespace

TierShare tier_share(std::span<const TierSpan> spans, base::Mono begin, std::optional<base::Mono> first_token,
                     base::Mono end) {
  const auto prefill_end = first_token ? std::min(*first_token, end) : end;
  TierShare share;
  share.tokenize_ms = covered_ms(spans, {TierSpanKind::kTokenize}, begin, end);
  // Programs without a process call tell of their graphs instead; never both.
  share.prefill_ms = covered_ms(spans, {TierSpanKind::kProcess, TierSpanKind::kGraph}, begin, prefill_end);
  share.state_restore_ms = covered_ms(spans, {TierSpanKind::kStateLoad}, begin, end);
  return share;
}

}  // namespace hearth::engine
