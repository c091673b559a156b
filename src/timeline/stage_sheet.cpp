#include "timeline/stage_sheet.h"

#include <algorithm>

namespace hearth::timeline {

using base::Duration;

void StageSheet::add(domain::Stage stage, Duration from, Duration to, domain::Source source) {
  add_span(stage, from, to - from, to - from, source);
}

void StageSheet::add_span(domain::Stage stage, Duration from, Duration length, Duration critical,
                          domain::Source source) {
  if (length <= Duration::zero()) return;
  Row& row = rows_[static_cast<std::size_t>(stage)];
  if (length > row.longest) {
    row.from = from;
    row.longest = length;
    row.source = source;
  }
  row.length += length;
  row.critical += critical;
}

void StageSheet::set_bytes(domain::Stage stage, base::Bytes bytes) {
  rows_[static_cast<std::size_t>(stage)].bytes = bytes;
}

domain::StageSpan StageSheet::told(domain::Stage stage) const {
  const Row& row = rows_[static_cast<std::size_t>(stage)];
  // Pieces told as one could run over the end of what they are part of; they are moved back, never cut.
  const bool is_decode = stage == domain::Stage::decode;
  const Duration end = is_decode ? finished_ : first_token_.value_or(finished_);
  const Duration from = row.length > Duration::zero() ? std::min(row.from, end - row.length) : Duration::zero();
  const bool restored = stage == domain::Stage::prefix_restore;
  return {.stage = stage,
          .start_ms = base::to_ms(from),
          .ms = base::to_ms(row.length),
          .critical_ms = base::to_ms(row.critical),
          .bytes = row.bytes,
          .source = row.source,
          .tokens = restored ? restored_tokens_ : std::nullopt,
          .saved_ms = restored ? saved_ms_ : std::nullopt};
}

std::vector<domain::StageSpan> StageSheet::told() const {
  std::vector<domain::StageSpan> spans;
  for (const auto stage : domain::kAllStages)
    spans.push_back(told(stage));
  return spans;
}

}  // namespace hearth::timeline
