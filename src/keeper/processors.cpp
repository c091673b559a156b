#include "keeper/processors.h"

#include <algorithm>

namespace hearth::keeper {

std::vector<policy::Worker> Processors::at_work() const {
  std::vector<policy::Worker> all;
  for (const auto& [id, resident] : parts_.residents) {
    const auto since = outranked_since_.find(id);
    all.push_back(
        {.works_for = resident->works_for(),
         .turn = id == turn_,
         .outranked = since == outranked_since_.end() ? base::Duration{} : parts_.clock.now() - since->second});
  }
  return all;
}

std::vector<policy::Worker> Processors::workers() const {
  auto all = at_work();
  for (auto& worker : all)
    worker = policy::as_it_counts(worker, parts_.starvation_bound);
  return all;
}

void Processors::note_outranked() {
  const auto all = at_work();
  auto worker = all.begin();
  for (const auto& [id, resident] : parts_.residents) {
    if (policy::is_outranked(*worker++, all))
      outranked_since_.try_emplace(id, parts_.clock.now());
    else
      outranked_since_.erase(id);
  }
  std::erase_if(outranked_since_, [this](const auto& since) { return !parts_.residents.contains(since.first); });
}

std::optional<base::Duration> Processors::patience_left() const {
  std::optional<base::Duration> least;
  for (const auto& [id, since] : outranked_since_) {
    const base::Duration left = since + parts_.starvation_bound - parts_.clock.now();
    if (left > base::Duration{}) least = std::min(left, least.value_or(left));
  }
  return least;
}

std::vector<domain::ModelId> Processors::in_turns() const {
  std::vector<domain::ModelId> ids;
  if (!parts_.may_lower_niceness) return ids;
  for (const std::size_t place : policy::in_turns(workers()))
    ids.push_back(std::next(parts_.residents.begin(), static_cast<std::ptrdiff_t>(place))->first);
  return ids;
}

void Processors::share() {
  note_outranked();
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
    const base::Mono now = std::chrono::steady_clock::now();
    if (in_turns().empty())
      due.reset();
    else if (!due)
      due = now + parts_.turn;
    const auto patience = patience_left();
    const base::Mono look_again = patience ? now + *patience : base::Mono::max();
    const bool changed = co_await changed_.wait_until(std::min(due.value_or(look_again), look_again));
    if (changed) continue;
    if (due && *due <= look_again) {
      pass_turn();
      due.reset();
    } else {
      share();
    }
  }
}

}  // namespace hearth::keeper
