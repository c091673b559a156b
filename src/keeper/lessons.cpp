#include "keeper/lessons.h"

#include <algorithm>

#include "keeper/expectations.h"
#include "keeper/resident.h"

namespace hearth::keeper {
namespace {

void keep_latest(std::deque<base::Duration>& all, double ms) {
  all.push_back(base::from_ms(ms));
  if (all.size() > Resident::kTimesRemembered) all.pop_front();
}

}  // namespace

policy::Demand demand_of(std::span<const Use> uses, const Calendar& calendar, const policy::DemandConfig& config) {
  struct Step {
    base::Wall at;
    bool began;
  };
  std::vector<Step> steps;
  steps.reserve(2 * uses.size());
  for (const Use& use : uses) {
    steps.push_back({use.began, true});
    steps.push_back({use.began + std::chrono::duration_cast<base::Wall::duration>(use.lasted), false});
  }
  // What begins where another ends is a use without a gap.
  std::ranges::stable_sort(steps, [](const Step& left, const Step& right) {
    return left.at != right.at ? left.at < right.at : left.began > right.began;
  });
  policy::Demand demand;
  for (const Step& step : steps) {
    if (step.began)
      demand.request_began(calendar.at(step.at), config);
    else
      demand.request_ended(calendar.at(step.at));
  }
  return demand;
}

void Learner::see(const timeline::RequestRow& request) {
  const auto id = domain::ModelId::parse(request.model);
  if (!id) return;
  uses_[*id].push_back({.began = request.at, .lasted = base::from_ms(request.total_ms)});
  PastTimes& times = lessons_.times[*id];
  if (request.start_ms) keep_latest(times.starts, *request.start_ms);
  // The rest of what a request without a start waited for is small beside it, or rare.
  if (request.ttft_ms && request.cold_ms == 0) keep_latest(times.first_tokens, *request.ttft_ms);
}

void Learner::see(const domain::Event& event) {
  if (Expectations::counts(event)) lessons_.prewarms.push_back(event);
}

Lessons Learner::lessons() {
  for (const auto& [id, uses] : uses_)
    lessons_.demands[id] = demand_of(uses, calendar_, config_);
  return std::move(lessons_);
}

}  // namespace hearth::keeper
