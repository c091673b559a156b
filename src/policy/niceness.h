#pragma once
// Which engine gives way to which on the processors, as nice values. Pure.
//
// An engine computes on every core, and its threads wait for each other within each step by spinning. Two that compute
// at once as equals hinder each other by far more than half (docs/residency.md has figures); with unlike nice values
// the scheduler lets one of them go on almost as if it were alone. So a lower class gives way to a higher one, and
// engines that work for the same class take turns.
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "domain/model.h"

namespace hearth::policy {

// One engine.
struct Worker {
  // The highest class of those who wait for it or use it. Empty: nobody does, and what it is told to do meanwhile (to
  // hibernate, to stop) somebody may wait for.
  std::optional<domain::ServiceClass> works_for;
  bool turn = false;  // before others that work for the same class
  // Others have worked for a higher class for so long without a break.
  base::Duration outranked = {};
};

// The class that counts: background that was outranked for the starvation bound is interactive until it no longer is
// outranked, as where it waits to be admitted (policy/admission.h).
[[nodiscard]] Worker as_it_counts(Worker worker, base::Duration starvation_bound);

// Does somebody work for a higher class than this one, whatever time has made of that?
[[nodiscard]] bool is_outranked(const Worker& worker, std::span<const Worker> workers);

// For each, from 0 to 19 (the scheduler weighs 1024 at 0, 335 at 5, 110 at 10, 36 at 15 and 15 at 19). Background is a
// little nice to the rest of the machine too.
[[nodiscard]] std::vector<int> nice_values(std::span<const Worker> workers);

// Where a nice value cannot be lowered again it is decided once, by the model's own class.
[[nodiscard]] int lasting_niceness(domain::ServiceClass of_model);

// Those that take turns: all that work for the highest class, where they are several; by their places, in order.
[[nodiscard]] std::vector<std::size_t> in_turns(std::span<const Worker> workers);

}  // namespace hearth::policy
