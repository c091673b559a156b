#pragma once
// What earlier runs of the server left in the history (docs/history-format.md).
#include <memory>
#include <vector>

#include "config/config.h"
#include "keeper/estimate_db.h"
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

// Where what loads took is kept (docs/estimates-format.md); null: it cannot be opened. Blocking, as what follows.
[[nodiscard]] std::unique_ptr<keeper::EstimateDb> open_estimates(const std::filesystem::path& data_dir, base::Wall now);
[[nodiscard]] std::vector<policy::Learnt> estimates_before(keeper::EstimateDb& estimates);

}  // namespace hearth::daemon
