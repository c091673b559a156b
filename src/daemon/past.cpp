#include "daemon/past.h"

#include <spdlog/spdlog.h>

namespace hearth::daemon {
namespace {

template <typename T>
bool or_log(const base::Result<T>& read) {
  if (!read) spdlog::warn("{}; what it says there is not used", read.error().message);
  return read.has_value();
}

}  // namespace

std::unique_ptr<timeline::HistoryDb> open_past(const config::Config& config, base::Wall now, keeper::Learner& learner,
                                               Past& past) {
  const timeline::HistoryLimits limits{.age = config.history().keep};
  auto opened = timeline::HistoryDb::open(config.server().data_dir / "history", limits, now);
  if (!opened) {
    spdlog::warn("{}; the server runs without a history", opened.error().message);
    return nullptr;
  }
  if (opened->set_aside)
    spdlog::warn("the history was damaged; it lies in {} and a new one begins", *opened->set_aside);
  const auto see = [&learner](const auto& row) { learner.see(row); };
  (void)or_log(opened->db->each_request(now, see));
  (void)or_log(opened->db->each_event(now, see));
  if (auto records = opened->db->records(); or_log(records)) past.records = std::move(*records);
  past.lessons = learner.lessons();
  return std::move(opened->db);
}

std::unique_ptr<keeper::EstimateDb> open_estimates(const std::filesystem::path& data_dir, base::Wall now) {
  auto opened = keeper::EstimateDb::open(data_dir / "estimates", now);
  if (!opened) {
    spdlog::warn("{}; what models take is learnt anew", opened.error().message);
    return nullptr;
  }
  if (opened->set_aside)
    spdlog::warn("the estimates were damaged; they lie in {} and are learnt anew", *opened->set_aside);
  return std::move(opened->db);
}

std::vector<policy::Learnt> estimates_before(keeper::EstimateDb& estimates) {
  auto learnt = estimates.all();
  return or_log(learnt) ? std::move(*learnt) : std::vector<policy::Learnt>{};
}

}  // namespace hearth::daemon
