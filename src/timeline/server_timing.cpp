#include "timeline/server_timing.h"

#include <fmt/format.h>

#include <algorithm>

#include "timeline/assemble.h"

namespace hearth::timeline {
namespace {

constexpr std::size_t kLongest = 1024;
constexpr double kLeastMs = 0.05;  // what is written as 0.1

}  // namespace

std::string server_timing(std::span<const domain::StageSpan> stages) {
  std::string value;
  for (const auto& span : stages) {
    if (!(span.critical_ms >= kLeastMs)) continue;
    const auto metric =
        fmt::format("{}{};dur={:.1f}", value.empty() ? "" : ", ", domain::name_of(span.stage), span.critical_ms);
    if (value.size() + metric.size() > kLongest) break;
    value += metric;
  }
  return value;
}

std::string server_timing(domain::RequestObservation so_far, base::Mono now) {
  so_far.finished = now;
  if (!so_far.first_token && !so_far.timings && so_far.sent) {
    so_far.finished = std::min(now, *so_far.sent);
    so_far.prefill_began.reset();
  }
  return server_timing(assemble(so_far).stages);
}

}  // namespace hearth::timeline
