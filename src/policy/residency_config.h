#pragma once
// The knobs of the residency policies, with the values that hold where nobody says otherwise. Plain values; the
// composition root fills them from the configuration.
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

#include "base/clock.h"
#include "domain/model.h"

namespace hearth::policy {

inline constexpr std::size_t kClasses = 3;
[[nodiscard]] constexpr std::size_t index_of(domain::ServiceClass service_class) {
  return static_cast<std::size_t>(service_class);
}

struct EvictionConfig {
  // A model that just got where it is stays there this long, for all but a higher class; for a newcomer that somebody
  // waits for, no longer than its load takes.
  base::Duration least_residency = std::chrono::seconds(10);
  // What is swapped in without anybody waiting must be worth this much more than what goes.
  double hysteresis = 1.10;
  // At most this many voluntary swaps (pre-warms that demote somebody) per window.
  std::size_t most_swaps = 6;
  base::Duration swap_window = std::chrono::minutes(10);
  // How far ahead reuse counts.
  base::Duration horizon = std::chrono::minutes(15);
  // What a second of waiting weighs, by class.
  std::array<double, kClasses> class_weight = {4.0, 1.0, 0.5};
  // Whether a lower class spares what is held for a higher one. Off only to replay what others do.
  bool protect_classes = true;
  // Peers' knobs: how long TTL keeps a model, and how many models `count` allows.
  base::Duration ttl = std::chrono::minutes(5);
  std::size_t most_models = 3;
};

struct AdmissionConfig {
  // Waiting requests per class; the next one is told to come back.
  std::array<std::size_t, kClasses> most_waiting = {64, 256, 1024};
  // A background request that has waited this long is treated as an interactive one.
  base::Duration starvation_bound = std::chrono::minutes(15);
  // A background load is held back while fewer than this many wait for it, for at most `gather`.
  base::Duration gather = std::chrono::seconds(0);
  // The longest cold start that a class accepts; empty: any.
  std::array<std::optional<base::Duration>, kClasses> max_cold_ttft = {std::chrono::milliseconds(1500), std::nullopt,
                                                                       std::nullopt};
};

struct DemandConfig {
  double head = 0.05;   // pre-warm at this percentile of the idle gaps …
  double tail = 0.99;   // … and keep until this one,
  double margin = 0.1;  // each this much earlier or later
  std::size_t least_gaps = 8;
  double least_variation = 2.0;  // of the histogram's counts; below it the gaps have no shape to trust
  double most_out_of_range = 0.5;
  base::Duration half_life = std::chrono::hours(24 * 14);  // of everything learnt
  double least_share = 0.5;  // of the weeks seen, in which an hour was used, to pre-warm for that hour
  // Loads that nobody used: at most this share of the pre-warms, and this many in a row for one model.
  double most_waste = 0.3;
  std::size_t most_wasted_in_a_row = 3;
};

struct PressureConfig {
  double psi_some_high = 10.0;  // percent of 10 s in which somebody waited for memory: give something back
  double psi_some_critical = 40.0;
  double refaults_per_s_high = 2000;  // pages of 4 KiB
  double swap_in_per_s_high = 1e6;    // bytes
  base::Duration settle = std::chrono::seconds(4);
  base::Duration calm_before_growth = std::chrono::seconds(30);
  // Thrashing: this many reloads of models that had been demoted, which took this share of the window.
  std::size_t thrash_reloads = 6;
  double thrash_share = 0.1;
  base::Duration thrash_window = std::chrono::minutes(5);
  // Meanwhile what is held on purpose keeps its memory so many times as long as the newcomer's load takes, at most so
  // long.
  double turn_per_load = 3;
  base::Duration longest_turn = std::chrono::seconds(30);
};

struct ResidencyConfig {
  EvictionConfig eviction;
  AdmissionConfig admission;
  DemandConfig demand;
  PressureConfig pressure;
};

}  // namespace hearth::policy
