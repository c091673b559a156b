#include "cli/progress.h"

#include <fmt/format.h>

#include <ostream>

#include "base/bytes.h"
#include "base/text.h"

namespace hearth::cli {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kSilent = 2s;
constexpr base::Duration kRedraw = 200ms;
constexpr base::Duration kNextLine = 10s;
constexpr std::size_t kWidest = 160;

std::string span_text(base::Duration span) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(span).count();
  if (seconds < 120) return fmt::format("{} s", seconds);
  return fmt::format("{} min", (seconds + 30) / 60);
}

std::string left_by_rate(const ProgressStep& step, base::Duration elapsed, std::uint64_t advanced) {
  if (advanced == 0 || elapsed < 1s || *step.done >= *step.total) return {};
  const double seconds =
      base::to_ms(elapsed) / 1e3 / static_cast<double>(advanced) * static_cast<double>(*step.total - *step.done);
  return ", " + span_text(base::from_ms(seconds * 1e3)) + " left";
}

}  // namespace

std::string progress_text(const ProgressStep& step, base::Duration elapsed, std::uint64_t advanced,
                          std::optional<base::Duration> expected) {
  const std::string what = base::printable(step.what, kWidest / 2);
  if (step.done && step.total && *step.total > 0) {
    return fmt::format("{}: {} of {} ({} %){}", what, base::format_bytes(*step.done), base::format_bytes(*step.total),
                       *step.done * 100 / *step.total, left_by_rate(step, elapsed, advanced));
  }
  const std::string done = step.done ? fmt::format(" {},", base::format_bytes(*step.done)) : std::string();
  const std::string left =
      expected && *expected > elapsed ? fmt::format(", about {} left", span_text(*expected - elapsed)) : std::string();
  return fmt::format("{}:{} {}{}", what, done, span_text(elapsed), left);
}

bool ProgressLine::is_time(base::Mono now) const {
  if (finished_ || now - began_ < kSilent) return false;
  return !drawn_ || now - *drawn_ >= (console_.err_is_terminal ? kRedraw : kNextLine);
}

void ProgressLine::show(const ProgressStep& step, std::optional<base::Duration> expected) {
  const auto now = console_.clock.now();
  if (step.what != what_ || step_began_ == base::Mono{}) {
    what_ = step.what;
    step_began_ = now;
    step_first_ = step.done.value_or(0);
  }
  if (!is_time(now)) return;
  drawn_ = now;
  const auto done = step.done.value_or(0);
  const std::string text =
      progress_text(step, now - step_began_, done > step_first_ ? done - step_first_ : 0, expected);
  console_.err << (console_.err_is_terminal ? "\r" + text + "\x1b[K" : text + "\n") << std::flush;
}

void ProgressLine::finish() {
  if (drawn_ && !finished_ && console_.err_is_terminal) console_.err << "\r\x1b[K" << std::flush;
  finished_ = true;
}

}  // namespace hearth::cli
