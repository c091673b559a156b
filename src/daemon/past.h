#pragma once
// What earlier runs of the server left in the history (docs/history-format.md).
#include <memory>
#include <vector>

#include "config/config.h"
#include "keeper/lessons.h"

namespace hearth::daemon {

struct Past {
  keeper::Lessons lessons;
  std::vector<domain::RequestRecord> records;
};

// Opens the history and reads it. Null: there is none. What goes wrong is logged, and the server runs without that
// part. Blocking, half a second for a full history.
[[nodiscard]] std::unique_ptr<timeline::HistoryDb> open_past(const config::Config& config, base::Wall now,
                                                             keeper::Learner& learner, Past& past);

}  // namespace hearth::daemon
