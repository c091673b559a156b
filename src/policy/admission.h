#pragma once
// Who is served next, who waits, and what a waiting client is told.
//
// Voice comes before interactive, interactive before background. Within a class: first come, first served, except that
// background requests for one model go together, so that one load serves many. A background request that has waited
// longer than the starvation bound counts as interactive (never as voice, and it still evicts nothing that is held for
// a higher class).
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/eviction.h"

namespace hearth::policy {

struct Waiting {
  std::uint64_t ticket = 0;  // ascending with arrival
  domain::ModelId model;
  domain::ServiceClass service_class = domain::ServiceClass::interactive;
  base::Mono since = {};
};

// The class that counts for whoever has given way so long: background no longer does so after the starvation bound.
[[nodiscard]] domain::ServiceClass class_after(base::Duration giving_way, domain::ServiceClass service_class,
                                               base::Duration starvation_bound);

// The class that counts for its turn.
[[nodiscard]] domain::ServiceClass effective_class(const Waiting& waiting, const AdmissionConfig& config,
                                                   base::Mono now);

// The order in which waiting requests get their turn. `warm`: models that can serve without a load; background work for
// them goes before background work that needs one.
[[nodiscard]] std::vector<std::uint64_t> order_of(std::span<const Waiting> queue, std::span<const domain::ModelId> warm,
                                                  const AdmissionConfig& config, base::Mono now);

struct QueueVerdict {
  bool accepted = false;
  std::size_t position = 0;  // from 1, among those that wait
  std::optional<base::Duration> expected_wait = std::nullopt;
  base::Duration retry_after = {};  // when refused
  std::string reason;
};

// How long a load of that model takes and how long its requests do, as measured; empty: not known.
struct ServiceTimes {
  domain::ModelId model;
  std::optional<double> load_s = std::nullopt;
  std::optional<double> request_s = std::nullopt;
};

// May this request wait? `newcomer` is not yet in the queue.
[[nodiscard]] QueueVerdict judge_waiting(const Waiting& newcomer, std::span<const Waiting> queue,
                                         std::span<const domain::ModelId> warm, std::span<const ServiceTimes> times,
                                         const AdmissionConfig& config, base::Mono now);

// May a load for this class begin while others wait? A lower class never delays the load of a higher one.
[[nodiscard]] bool may_load(domain::ServiceClass service_class, std::span<const Waiting> queue,
                            const AdmissionConfig& config, base::Mono now);

// What a class is promised about a cold start of this model.
struct ColdStartPromise {
  bool kept = true;         // its limit holds, or it has none
  bool keep_warm = false;   // it only holds if the model never gets colder than `floor`
  Rung floor = Rung::cold;  // the coldest rung from which the limit still holds
  double cold_ttft_s = 0;   // from the coldest rung
  std::string reason;       // for ps, explain and the answer's header
};
[[nodiscard]] ColdStartPromise promise_of(domain::ServiceClass service_class, const Ladder& ladder, double warm_ttft_s,
                                          const AdmissionConfig& config);

}  // namespace hearth::policy
