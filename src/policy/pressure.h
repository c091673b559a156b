#pragma once
// Giving memory back before the kernel takes it, and saying so when the models in use cannot all stay.
//
// What is given back follows the eviction policy's order; how much depends on what lacks: the reserve that is not
// there, else a share of what is held that grows while the pressure lasts. Every signal may be missing; those that are
// there count.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/eviction.h"

namespace hearth::policy {

enum class PressureLevel { calm, high, critical };
[[nodiscard]] std::string_view name_of(PressureLevel level);

// Read over the same span of time, about two seconds.
struct PressureReading {
  std::optional<double> psi_some_avg10;  // percent
  std::optional<base::Bytes> available;  // MemAvailable
  std::optional<double> swap_in_per_s;   // bytes
  std::optional<double> refaults_per_s;  // pages that were evicted and are needed again
  // Pages looked at to take memory back. While there is none the machine lacks no memory, and whoever waits for it or
  // reads it again does so for another reason: the limit of somebody else's control group, or pages that were given
  // back on purpose. Nothing that Hearth gives back helps them.
  std::optional<double> reclaim_scans_per_s;
};

// What of the past matters. A value that the caller keeps.
struct PressureMemory {
  std::optional<base::Mono> gave_back;  // last time
  std::optional<base::Mono> last_high;
  std::size_t in_a_row = 0;  // give-backs without calm between them
};

struct PressureDecision {
  PressureLevel level = PressureLevel::calm;
  Footprint give_back;   // how much; empty: nothing now
  EvictionPlan plan;     // who gives it
  bool may_grow = true;  // no new voluntary loads otherwise
  std::string reason;
};

// `held`: what the models hold now. Updates `memory`.
[[nodiscard]] PressureDecision judge_pressure(const PressureReading& reading, base::Bytes reserve,
                                              std::span<const Held> models, PressureMemory& memory,
                                              const PressureConfig& config, const EvictionConfig& eviction,
                                              base::Mono now);

// A model that was demoted for another and had to come back soon.
struct Reload {
  domain::ModelId id;
  base::Mono at;
  double seconds = 0;  // that it takes
};
struct Thrashing {
  std::vector<domain::ModelId> models;  // those that push each other out
  Footprint needed;
  Footprint available;
  std::vector<domain::ModelId> keep;  // the set to hold on purpose, worth most; the others wait their turn
  std::string sentence;               // "thrashing: these 3 models need 14 GB, 11 GB are there; keep 2 (a, b)"
};
// Empty while there is none. `reloads`: in any order; those outside the window do not count.
[[nodiscard]] std::optional<Thrashing> find_thrashing(std::span<const Reload> reloads, std::span<const Held> models,
                                                      const Footprint& capacity, const PressureConfig& config,
                                                      base::Mono now);

// How long what is held on purpose may keep a newcomer waiting whose load takes so many seconds.
[[nodiscard]] base::Duration thrashing_turn(double load_s, const PressureConfig& config);

}  // namespace hearth::policy
