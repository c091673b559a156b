#pragma once
// Where on a row of cells an instant of a request lies. Pure.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "domain/request.h"

namespace hearth::cli {

class TimeAxis {
 public:
  // REQUIRES: width >= 10.
  TimeAxis(const domain::RequestRecord& record, std::size_t width);

  // Decode is drawn compressed behind the first token.
  [[nodiscard]] bool compressed() const { return tail_ > 0; }
  // The cell of the first token.
  [[nodiscard]] std::optional<std::size_t> first_token() const { return first_token_; }
  [[nodiscard]] std::size_t width() const { return width_; }

  // One row: `width` cells, each a character (UTF-8) or a space. A stage of any length shows in at least one cell.
  [[nodiscard]] std::vector<std::string> bar_of(const domain::StageSpan& span, bool ascii) const;

 private:
  [[nodiscard]] double cell_of(double ms) const;

  std::size_t width_;
  std::size_t main_;      // cells of the part with a scale
  std::size_t tail_ = 0;  // cells behind it
  double limit_ms_ = 0;   // what the scale ends at
  std::optional<std::size_t> first_token_;
};

// The stage's time is in part another's: less of it is on the critical path than it took.
[[nodiscard]] bool shares_its_time(const domain::StageSpan& span);

}  // namespace hearth::cli
