#pragma once
// Can this load ever fit, and when? Asked before anybody is evicted.
//
// never: not even with every unpinned model gone. The refusal carries what is needed, what there could be, the largest
// context that would fit and the smaller quantisations known. after_waiting: the memory is there, but held by requests
// that run, by loads under way or for a higher class; it says how long that takes, where anybody knows.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/estimate.h"
#include "policy/eviction.h"

namespace hearth::policy {

struct Quantisation {
  std::string name;  // as a person would ask for it
  Footprint needed;
};

struct FitAsk {
  Newcomer newcomer;
  Footprint needed;                          // more than it holds already
  Footprint holds;                           // of this model already
  std::uint64_t context = 0;                 // asked for; 0: unknown
  std::optional<double> kv_bytes_per_token;  // with all slots; in the place `kv_place`
  std::size_t kv_place = kHost;
  std::vector<Quantisation> quantisations;  // of the same model, any size
};

// What is known of the requests that run: when each model's last one is expected to be over.
struct Running {
  domain::ModelId id;
  base::Mono expected_end;
};

enum class FitOutcome { now, after_eviction, after_waiting, never };
[[nodiscard]] std::string_view name_of(FitOutcome outcome);

struct FitVerdict {
  FitOutcome outcome = FitOutcome::now;
  Footprint needed;
  Footprint available;  // never: all there could be; otherwise what is free now
  std::optional<std::uint64_t> largest_context = std::nullopt;
  std::vector<std::string> smaller_quantisations = {};
  std::optional<base::Duration> expected_wait = std::nullopt;
  std::vector<SparedModel> waits_for = {};  // who has to end, or be unpinned
  bool pinned_conflict = false;             // it would fit, were it not for pins
  // It would fit, were it not for these, which are kept forever for a higher class; empty where pins are in the way
  // too.
  std::vector<domain::ModelId> kept_forever = {};
  std::string reason;
};

// `capacity`: the whole budget; `free`: what is not charged to anybody.
[[nodiscard]] FitVerdict judge_fit(const FitAsk& ask, std::span<const Held> models, std::span<const Running> running,
                                   const Footprint& capacity, const Footprint& free, const EvictionConfig& config,
                                   base::Mono now);

}  // namespace hearth::policy
