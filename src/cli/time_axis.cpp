#include "cli/time_axis.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace hearth::cli {
namespace {

constexpr double kLongDecode = 0.6;  // of the total: from here on it would squash what comes before
constexpr std::array<std::string_view, 8> kEighths = {"▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};

double decode_ms(const domain::RequestRecord& record) {
  const auto decode = std::ranges::find(record.stages, domain::Stage::decode, &domain::StageSpan::stage);
  return decode == record.stages.end() ? 0 : decode->critical_ms;
}

// The last cell of a bar, of which it covers `part` (0..1).
std::string_view last_glyph(double part, bool is_first, bool whole_cells_only, std::string_view full) {
  if (whole_cells_only) return is_first || part >= 0.5 ? full : " ";
  const auto eighths = static_cast<std::size_t>(std::clamp(part * 8, 0.0, 8.0));
  if (eighths == 0) return is_first ? kEighths[0] : std::string_view(" ");
  return kEighths[eighths - 1];
}

}  // namespace

bool shares_its_time(const domain::StageSpan& span) { return span.ms - span.critical_ms > 0.05; }

TimeAxis::TimeAxis(const domain::RequestRecord& record, std::size_t width)
    : width_(width), main_(width), limit_ms_(record.total_ms) {
  if (!record.ttft_ms) return;
  if (*record.ttft_ms > 0 && decode_ms(record) > kLongDecode * record.total_ms) {
    tail_ = std::max<std::size_t>(3, width / 5);
    main_ = width - tail_ - 1;
    limit_ms_ = *record.ttft_ms;
    first_token_ = main_;
  } else {
    first_token_ = std::min(width - 1, static_cast<std::size_t>(cell_of(*record.ttft_ms)));
  }
}

double TimeAxis::cell_of(double ms) const {
  const auto cells = static_cast<double>(main_);
  // Also the answer for an empty axis, where nothing can be placed.
  if (!(limit_ms_ > 0)) return 0;
  return std::clamp(ms / limit_ms_ * cells, 0.0, cells);
}

std::vector<std::string> TimeAxis::bar_of(const domain::StageSpan& span, bool ascii) const {
  std::vector<std::string> cells(width_, " ");
  if (compressed() && span.stage == domain::Stage::decode) {
    std::fill(cells.end() - static_cast<std::ptrdiff_t>(tail_), cells.end() - 1, ascii ? "#" : "█");
    cells.back() = ascii ? ">" : "»";
    return cells;
  }
  const bool shared = shares_its_time(span);
  const std::string_view full = ascii ? (shared ? "=" : "#") : (shared ? "▒" : "█");
  const double end = cell_of(span.start_ms + span.ms);
  const auto first = std::min(main_ - 1, static_cast<std::size_t>(cell_of(span.start_ms)));
  const auto last = std::max(first, static_cast<std::size_t>(end));
  std::fill(cells.begin() + static_cast<std::ptrdiff_t>(first), cells.begin() + static_cast<std::ptrdiff_t>(last),
            full);
  if (last < main_) cells[last] = last_glyph(end - static_cast<double>(last), last == first, ascii || shared, full);
  return cells;
}

}  // namespace hearth::cli
