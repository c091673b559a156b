#include "tools/make_model/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>

namespace hearth::make_model {
namespace {

constexpr auto kQuiet = std::chrono::seconds(2);

}  // namespace

std::string progress_line(base::Bytes done, base::Bytes total, base::Duration elapsed) {
  const double seconds = base::to_ms(elapsed) / 1000;
  const double rate = static_cast<double>(done) / seconds;
  const double left = rate > 0 ? static_cast<double>(total - done) / rate : 0;
  return fmt::format("{} of {}, {}/s, {:.0f} s left", base::format_bytes(done), base::format_bytes(total),
                     base::format_bytes(static_cast<base::Bytes>(rate)), std::ceil(left));
}

Progress::Progress(base::Bytes total, const base::Clock& clock, std::FILE* out)
    : total_(total), clock_(clock), out_(out), began_(clock.now()), told_(began_) {}

void Progress::done(base::Bytes bytes) {
  if (out_ == nullptr) return;
  const auto now = clock_.now();
  const bool terminal = ::isatty(::fileno(out_)) == 1;
  // On a terminal one line that changes, elsewhere a line now and then.
  const base::Duration pause =
      terminal ? base::Duration(std::chrono::milliseconds(200)) : base::Duration(std::chrono::seconds(5));
  if (now - began_ < kQuiet || now - told_ < pause) return;
  told_ = now;
  fmt::print(out_, "{}{}{}", terminal ? "\r\x1b[K" : "", progress_line(bytes, total_, now - began_),
             terminal ? "" : "\n");
  std::fflush(out_);
  line_open_ = terminal;
}

void Progress::finish() {
  if (line_open_) fmt::print(out_, "\n");
  line_open_ = false;
}

}  // namespace hearth::make_model
