#pragma once
// What the history of earlier runs teaches the keeper. Gathered from its rows beside the running server, by a thread
// that may block, then handed over whole.
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "domain/event.h"
#include "keeper/calendar.h"
#include "timeline/history_db.h"

namespace hearth::keeper {

// One use of a model by somebody.
struct Use {
  base::Wall began;
  base::Duration lasted = {};
};
// What those uses, in any order, say about when it is used. Uses that overlap, or meet, are one use.
[[nodiscard]] policy::Demand demand_of(std::span<const Use> uses, const Calendar& calendar,
                                       const policy::DemandConfig& config);

// How long a model took, the latest last.
struct PastTimes {
  std::deque<base::Duration> starts;
  std::deque<base::Duration> first_tokens;  // of an engine that was warm
};

struct Lessons {
  std::map<domain::ModelId, policy::Demand> demands;
  std::map<domain::ModelId, PastTimes> times;
  std::vector<domain::Event> prewarms;  // and what became of them
};

// Thread: any one at a time.
class Learner {
 public:
  Learner(const Calendar& calendar, const policy::DemandConfig& config) : calendar_(calendar), config_(config) {}

  // Oldest first.
  void see(const timeline::RequestRow& request);
  void see(const domain::Event& event);
  [[nodiscard]] Lessons lessons();

 private:
  Calendar calendar_;
  policy::DemandConfig config_;
  std::map<domain::ModelId, std::vector<Use>> uses_;
  Lessons lessons_;
};

}  // namespace hearth::keeper
