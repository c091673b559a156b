#include "keeper/processors.h"

#include <algorithm>

namespace hearth::keeper {

std::vector<policy::Worker> Processors::workers() const {
  std::vector<policy::Worker> all;
  for (const auto& [id, resident] : parts_.residents)
    all.push_back({.works_for = resident->works_for(), .turn = id == turn_});
  return all;
}

std::vector<domain::ModelId> Processors::in_turns() const {
  std::vector<domain::ModelId> ids;
  if (!parts_.may_lower_niceness) return ids;
  for (const std::size_t place : policy::in_turns(workers()))
    ids.push_back(std::next(parts_.residents.begin(), static_cast<std::ptrdiff_t>(place))->first);
  return ids;
}

void Processors::share() {
  const auto candidates = in_turns();
  if (!candidates.empty() && std::ranges::find(candidates, turn_) == candidates.end()) turn_ = candidates.front();
  const auto values = policy::nice_values(workers());
  auto value = values.begin();
  for (const auto& [id, resident] : parts_.residents) {
    const int mine = *value++;
    resident->supervisor().set_niceness(parts_.may_lower_niceness ? mine
                                                                  : policy::lasting_niceness(parts_.class_of(id)));
  }
}

void Processors::began(const domain::ModelId& id) {
  const auto resident = parts_.residents.find(id);
  const bool fresh = resident != parts_.residents.end() && resident->second->tasks() == 1;
  const auto candidates = in_turns();
  if (fresh && std::ranges::find(candidates, id) != candidates.end()) turn_ = id;
  share();
  changed_.notify_all();
}

void Processors::pass_turn() {
  const auto candidates = in_turns();
  if (candidates.empty() || !turn_) return;
  const auto after = std::ranges::upper_bound(candidates, *turn_);
  turn_ = after == candidates.end() ? candidates.front() : *after;
  share();
}

rt::Task<void> Processors::run() {
  std::optional<base::Mono> due;  // others who begin meanwhile do not put it off
  for (;;) {
    if (in_turns().empty())
      due.reset();
    else if (!due)
      due = std::chrono::steady_clock::now() + parts_.turn;
    const bool changed = co_await changed_.wait_until(due.value_or(base::Mono::max()));
    if (changed) continue;
    pass_turn();
    due.reset();
  }
}

}  // namespace hearth::keeper
