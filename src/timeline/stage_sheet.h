#pragma once
// Collects the pieces of a request's stages in whole nanoseconds, so that their sums are exact, and tells them as
// spans. Not thread-safe.
#include <array>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "domain/request.h"

namespace hearth::timeline {

class StageSheet {
 public:
  // All instants here are since the request was received. REQUIRES: first_token <= finished.
  StageSheet(std::optional<base::Duration> first_token, base::Duration finished)
      : first_token_(first_token), finished_(finished) {}

  // A piece of a stage that nothing overlaps. REQUIRES: from <= to. An empty piece changes nothing.
  void add(domain::Stage stage, base::Duration from, base::Duration to, domain::Source source);
  // A stage that overlaps others: `critical` of its `length` is its own. Once a stage. REQUIRES: 0 <= critical <=
  // length.
  void add_span(domain::Stage stage, base::Duration from, base::Duration length, base::Duration critical,
                domain::Source source);
  void set_bytes(domain::Stage stage, base::Bytes bytes);
  // What prefix_restore brought, and what that saved where it is known.
  void set_restored(std::int64_t tokens, std::optional<double> saved_ms) {
    restored_tokens_ = tokens;
    saved_ms_ = saved_ms;
  }

  // Every stage, in order.
  [[nodiscard]] std::vector<domain::StageSpan> told() const;

 private:
  struct Row {
    base::Duration from{}, longest{}, length{}, critical{};
    std::optional<base::Bytes> bytes;
    domain::Source source = domain::Source::hearth;
  };

  [[nodiscard]] domain::StageSpan told(domain::Stage stage) const;

  std::array<Row, domain::kAllStages.size()> rows_;
  std::optional<std::int64_t> restored_tokens_;
  std::optional<double> saved_ms_;
  std::optional<base::Duration> first_token_;
  base::Duration finished_;
};

}  // namespace hearth::timeline
