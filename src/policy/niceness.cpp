#include "policy/niceness.h"

#include <algorithm>

#include "policy/admission.h"

namespace hearth::policy {

using enum domain::ServiceClass;

namespace {

constexpr int kBelowHigher = 15;
constexpr int kBackgroundBelowHigher = 19;
constexpr int kOutOfTurn = 10;
// Of background on top of that. More would starve it beside other programs that take every core, as its threads wait
// for each other.
constexpr int kBackground = 5;
constexpr int kLastingBackground = 10;

std::vector<std::size_t> of_highest(std::span<const Worker> workers) {
  std::optional<domain::ServiceClass> highest;
  for (const auto& worker : workers) {
    if (worker.works_for && (!highest || *worker.works_for < *highest)) highest = worker.works_for;
  }
  std::vector<std::size_t> places;
  for (std::size_t at = 0; highest && at < workers.size(); ++at) {
    if (workers[at].works_for == highest) places.push_back(at);
  }
  return places;
}

int below_higher(const Worker& worker) {
  if (!worker.works_for) return 0;
  return worker.works_for == background ? kBackgroundBelowHigher : kBelowHigher;
}

int among_the_highest(const Worker& worker, bool alone) {
  const int own = worker.works_for == background ? kBackground : 0;
  return worker.turn || alone ? own : own + kOutOfTurn;
}

}  // namespace

Worker as_it_counts(Worker worker, base::Duration starvation_bound) {
  if (worker.works_for) worker.works_for = class_after(worker.outranked, *worker.works_for, starvation_bound);
  return worker;
}

bool is_outranked(const Worker& worker, std::span<const Worker> workers) {
  return worker.works_for && std::ranges::any_of(workers, [&](const Worker& other) {
           return other.works_for && *other.works_for < *worker.works_for;
         });
}

std::vector<int> nice_values(std::span<const Worker> workers) {
  std::vector<int> values;
  std::ranges::transform(workers, std::back_inserter(values), below_higher);
  const auto highest = of_highest(workers);
  for (const auto at : highest)
    values[at] = among_the_highest(workers[at], highest.size() == 1);
  return values;
}

int lasting_niceness(domain::ServiceClass of_model) { return of_model == background ? kLastingBackground : 0; }

std::vector<std::size_t> in_turns(std::span<const Worker> workers) {
  auto highest = of_highest(workers);
  if (highest.size() < 2) highest.clear();
  return highest;
}

}  // namespace hearth::policy
