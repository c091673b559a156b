#pragma once
// One line on the terminal for work that takes longer than two seconds, with the time left.
#include <cstdio>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"

namespace hearth::make_model {

// "312 MB of 703 MB, 410 MB/s, 1 s left". REQUIRES: total > 0, elapsed > 0.
[[nodiscard]] std::string progress_line(base::Bytes done, base::Bytes total, base::Duration elapsed);

class Progress {
 public:
  // Writes to `out`, which may be nullptr for silence. The clock must outlive it.
  Progress(base::Bytes total, const base::Clock& clock, std::FILE* out);
  void done(base::Bytes bytes);
  // Ends the line, if there is one.
  void finish();

 private:
  base::Bytes total_;
  const base::Clock& clock_;
  std::FILE* out_;
  base::Mono began_;
  base::Mono told_;
  bool line_open_ = false;
};

}  // namespace hearth::make_model
