#include "lab/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hearth::lab {
namespace {

constexpr double kLabelWidth = 120;
constexpr double kPlotWidth = 520;
constexpr double kRow = 24;
constexpr std::array<std::string_view, policy::kClasses> kColours = {"#b5482a", "#d9a441", "#7a8f9c"};
constexpr std::array<std::string_view, policy::kClasses> kClassNames = {"voice", "interactive", "background"};

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>hearth lab replay</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
svg text { font-size: 13px; fill: currentColor; }
figure { margin: 1rem 0; } figcaption { font-weight: 600; }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd; } th, td { border-color: #444; } }
</style></head><body>
<h1>Who stays warm: a replay</h1>
<p>Every policy was given the same requests and the same memory. A cold start is a request that had to wait for its
model; its seconds are those of the load. Waiting for memory or for one's turn is counted apart, as queued.</p>
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

struct Segment {
  double value = 0;
  std::string_view colour;
  std::string_view what;
};
struct Row {
  std::string label;
  std::vector<Segment> segments;

  [[nodiscard]] double total() const {
    double sum = 0;
    for (const Segment& segment : segments)
      sum += segment.value;
    return sum;
  }
};

std::string row_svg(const Row& row, double top, double scale) {
  std::string svg = fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", kLabelWidth - 8, top + 16,
                                escaped(row.label));
  double x = kLabelWidth;
  for (const Segment& segment : row.segments) {
    const double width = segment.value * scale;
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"><title>{}: {:.2f} s</title></rect>", x,
        top + 2, width, kRow - 6, segment.colour, segment.what, segment.value);
    x += width;
  }
  return svg + fmt::format("<text x=\"{:.1f}\" y=\"{}\">{:.2f}</text>\n", x + 6, top + 16, row.total());
}

std::string bars(std::string_view caption, const std::vector<Row>& rows) {
  double most = 0;
  for (const Row& row : rows)
    most = std::max(most, row.total());
  const double scale = most > 0 ? kPlotWidth / most : 0;
  std::string svg = fmt::format("<figure><figcaption>{}</figcaption><svg width=\"{}\" height=\"{}\" role=\"img\">\n",
                                caption, kLabelWidth + kPlotWidth + 80, kRow * static_cast<double>(rows.size()) + 4);
  for (std::size_t i = 0; i < rows.size(); ++i)
    svg += row_svg(rows[i], kRow * static_cast<double>(i), scale);
  return svg + "</svg></figure>\n";
}

Row cold_seconds(const ReplayResult& result) {
  Row row{result.contestant, {}};
  for (std::size_t i = 0; i < policy::kClasses; ++i)
    row.segments.push_back({result.by_class[i].cold_start_s, kColours[i], kClassNames[i]});
  return row;
}

Row voice_p95(const ReplayResult& result) {
  return {result.contestant, {{result.by_class[0].ttft_p95_s, kColours[0], "95 % of voice requests"}}};
}

std::string table(const Experiment& experiment) {
  std::string html =
      "<table><tr><th>policy</th><th>cold starts</th><th>seconds</th><th>queued s</th><th>loads</th><th>wakes</th>"
      "<th>voice p95 s</th><th>voice evicted by background</th><th>pre-warmed</th><th>used</th></tr>\n";
  for (const ReplayResult& result : experiment.results) {
    html += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{:.1f}</td><td>{:.0f}</td><td>{}</td><td>{}</td><td>{:.2f}</td><td>{}</td>"
        "<td>{}</td><td>{}</td></tr>\n",
        escaped(result.contestant), result.cold_starts, result.cold_start_s, result.queued_s, result.loads,
        result.wakes, result.by_class[0].ttft_p95_s, result.voice_evicted_by_background, result.prewarms,
        result.prewarm_hits);
  }
  return html + "</table>\n";
}

std::string section(const Experiment& experiment) {
  std::vector<Row> cold;
  std::vector<Row> voice;
  for (const ReplayResult& result : experiment.results) {
    cold.push_back(cold_seconds(result));
    voice.push_back(voice_p95(result));
  }
  if (experiment.optimum)
    cold.push_back({"optimum", {{experiment.optimum->cold_start_s, "#4a7c59", "who knows the future"}}});
  return fmt::format("<h2>{}, seed {}</h2>\n<p>{} requests of {} models in {:.1f} days, {} of memory.</p>\n",
                     escaped(experiment.trace), experiment.seed, experiment.requests, experiment.models,
                     experiment.days, format(experiment.memory)) +
         bars("Seconds of cold starts: voice (red), interactive (yellow), background (grey)", cold) +
         bars("Voice: seconds to the first token, 95th percentile", voice) + table(experiment);
}

}  // namespace

std::string html_report(const std::vector<Experiment>& experiments) {
  std::string html(kHead);
  for (const Experiment& experiment : experiments)
    html += section(experiment);
  return html + "</body></html>\n";
}

}  // namespace hearth::lab
