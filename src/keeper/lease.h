#pragma once
// One request's hold on a ready engine. While it lives the model is busy and is neither stopped nor removed.
// Thread: the I/O thread; the keeper outlives it.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "domain/request.h"
#include "keeper/claim.h"
#include "keeper/counter_sampler.h"
#include "keeper/host_sampler.h"
#include "keeper/resident.h"

namespace hearth::keeper {

class Lease {
 public:
  // What of the surroundings a lease notes when it begins.
  struct Surroundings {
    const base::Clock& clock;
    CounterSampler& counters;
    HostSampler& host;
  };
  // `on_end` is told, last of all, that the lease is over; the keeper outlives the lease.
  // `before`: the layers as they were when the request asked, shared with whoever is still measuring them.
  Lease(std::shared_ptr<Resident> resident, engine::Ready ready, std::shared_ptr<const domain::LayerReadings> before,
        Surroundings surroundings, std::shared_ptr<Claim> claim, std::function<void(Resident&)> on_end);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  [[nodiscard]] const std::string& socket_path() const { return ready_.socket_path; }
  [[nodiscard]] std::optional<std::uint64_t> context() const { return resident_->context; }
  // What was seen when the lease began, into the observation.
  void describe(domain::RequestObservation& observation) const;
  // Notes the kernel's counters now, unless that is done already; conclude() tells what came on top.
  void note_sent();
  void set_class(domain::ServiceClass service_class) { service_class_ = service_class; }
  // What it waited for besides its answer: weights that came back beside it, from the disk or from the page cache.
  enum class Paid { nothing, start, wake, wake_of_kept_pages };
  // What its class is promised; told where something was paid, or a limit is not kept.
  void set_cold_start(domain::ColdStart cold, Paid paid) {
    paid_ = paid;
    if (paid != Paid::nothing || (cold.limit_ms && !cold.kept)) cold_start_ = std::move(cold);
  }
  // At the end: the layers before the request, what the kernel counted since, the host; into the observation.
  // `answered`: the engine's answer was whole, which forgives earlier failures to start.
  void conclude(domain::RequestObservation& observation, bool answered);
  // The body to send to the engine at that path, which may name a slot that suits the prompt; a stored state is
  // restored there first where that spares most of the prefill. Never fails. Once a lease.
  [[nodiscard]] rt::Task<std::string> fit(std::string path, std::string body, domain::RequestObservation& observation);
  // The engine broke off: why it went away, waiting a moment for its end to be known.
  [[nodiscard]] rt::Task<base::Error> why_gone();

 private:
  void note_times(const domain::RequestObservation& observation);
  void note_reading(const domain::RequestObservation& observation);
  [[nodiscard]] bool alone() const { return alone_as_ != 0 && resident_->requests() == alone_as_; }
  [[nodiscard]] std::optional<domain::ProbeTimes> probe_times(const domain::RequestObservation& observation) const;

  std::shared_ptr<Resident> resident_;
  engine::Ready ready_;
  std::shared_ptr<const domain::LayerReadings> before_;
  Surroundings surroundings_;
  std::shared_ptr<Claim> claim_;
  std::function<void(Resident&)> on_end_;
  bool engine_was_busy_;
  domain::ServiceClass service_class_ = domain::ServiceClass::interactive;  // that it was served in
  std::optional<domain::ColdStart> cold_start_;                             // told to the client
  Paid paid_ = Paid::nothing;
  std::uint64_t alone_as_;  // Resident::requests() when it began, if no other was running then; else 0
  struct Begin {
    CounterSampler::Sample counters;
    domain::HostReading host;
  };
  std::optional<Begin> begun_;  // empty: nothing was asked of the engine
  PromptUse prompt_;
};

}  // namespace hearth::keeper
