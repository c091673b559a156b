#pragma once
// What earlier runs of the server left in the history (docs/history-format.md).
#include <memory>
#include <vector>

#include "config/config.h"
#include "keeper/estimate_db.h"
#include "timeline/history_db.h"

namespace hearth::daemon {

struct Past {
  std::unique_ptr<timeline::HistoryDb> db;  // null: no history is kept, or it cannot be opened
  std::vector<timeline::RequestRow> requests;
  std::vector<domain::Event> events;
  std::vector<domain::RequestRecord> records;
};

// Blocking, some 0.1 s for a full history. What goes wrong is logged, and the server runs without that part.
[[nodiscard]] Past open_past(const config::Config& config, base::Wall now);

// Where what loads took is kept (docs/estimates-format.md); null: it cannot be opened. Blocking, as what follows.
[[nodiscard]] std::unique_ptr<keeper::EstimateDb> open_estimates(const std::filesystem::path& data_dir, base::Wall now);
[[nodiscard]] std::vector<policy::Learnt> estimates_before(keeper::EstimateDb& estimates);

}  // namespace hearth::daemon
