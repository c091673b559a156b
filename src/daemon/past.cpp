#include "daemon/past.h"

#include <spdlog/spdlog.h>

namespace hearth::daemon {
namespace {

template <typename T>
std::vector<T> or_log(base::Result<std::vector<T>> rows) {
  if (rows) return std::move(*rows);
  spdlog::warn("{}; what it says there is not used", rows.error().message);
  return {};
}

}  // namespace

Past open_past(const config::Config& config, base::Wall now) {
  Past past;
  if (config.history().keep.count() == 0) return past;
  const timeline::HistoryLimits limits{.age = config.history().keep};
  auto opened = timeline::HistoryDb::open(config.server().data_dir / "history", limits, now);
  if (!opened) {
    spdlog::warn("{}; the server runs without a history", opened.error().message);
    return past;
  }
  if (opened->set_aside)
    spdlog::warn("the history was damaged; it lies in {} and a new one begins", *opened->set_aside);
  past.db = std::move(opened->db);
  past.requests = or_log(past.db->requests(now));
  past.events = or_log(past.db->events(now));
  past.records = or_log(past.db->records());
  return past;
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

std::vector<policy::Learnt> estimates_before(keeper::EstimateDb& estimates) { return or_log(estimates.all()); }

}  // namespace hearth::daemon
