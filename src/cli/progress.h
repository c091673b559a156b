#pragma once
// One line on stderr that says how far something is: nothing in the first two seconds; then redrawn in place on a
// terminal, and a line every ten seconds elsewhere, so that logs stay short. Erased when it goes.
#include <optional>
#include <string>

#include "cli/cli.h"
#include "cli/console.h"

namespace hearth::cli {

class ProgressLine {
 public:
  explicit ProgressLine(Console& console) : console_(console), began_(console.clock.now()) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { finish(); }

  // `expected`: how long it takes in all, where that is known other than by bytes. Cheap when it is not time to draw.
  void show(const ProgressStep& step, std::optional<base::Duration> expected = std::nullopt);
  // Erases the line and draws no more.
  void finish();

 private:
  [[nodiscard]] bool is_time(base::Mono now) const;

  Console& console_;
  base::Mono began_;
  std::optional<base::Mono> drawn_;
  std::string what_;
  base::Mono step_began_{};
  std::uint64_t step_first_ = 0;
  bool finished_ = false;
};

// "importing qwen: 1.2 GB of 4.1 GB (29 %), 12 s left"; "waiting for the first token: 3 s, about 2 s left". `elapsed`
// is since the step began, `advanced` the bytes done in it.
[[nodiscard]] std::string progress_text(const ProgressStep& step, base::Duration elapsed, std::uint64_t advanced,
                                        std::optional<base::Duration> expected);

}  // namespace hearth::cli
