#include "keeper/lease.h"

#include <algorithm>

#include "engine/tier_link.h"
#include "engine/tier_spans.h"
#include "keeper/prompt_text.h"

namespace hearth::keeper {

Lease::Lease(std::shared_ptr<Resident> resident, engine::Ready ready,
             std::shared_ptr<const domain::LayerReadings> before, Surroundings surroundings,
             std::shared_ptr<Claim> claim, std::function<void(Resident&)> on_end)
    : resident_(std::move(resident)),
      ready_(std::move(ready)),
      before_(std::move(before)),
      surroundings_(surroundings),
      claim_(std::move(claim)),
      on_end_(std::move(on_end)),
      engine_was_busy_(resident_->every_slot_taken()),
      alone_as_(0) {
  resident_->request_began(surroundings_.clock.wall());
  alone_as_ = resident_->in_flight() == 1 ? resident_->requests() : 0;
}

Lease::~Lease() {
  resident_->request_ended();
  on_end_(*resident_);
}

void Lease::describe(domain::RequestObservation& observation) const {
  observation.start = ready_.start;
  observation.engine_was_busy = engine_was_busy_;
  observation.service_class = service_class_;
  observation.cold_start = cold_start_;
}

void Lease::note_sent() {
  if (!begun_) begun_ = Begin{surroundings_.counters.now(ready_.pid), surroundings_.host.reading()};
}

// A span knows its time and not its request, so what others did meanwhile would count as this one's.
std::optional<domain::ProbeTimes> Lease::probe_times(const domain::RequestObservation& observation) const {
  const std::shared_ptr<engine::TierLink> link = resident_->supervisor().tier();
  if (!link || !alone() || !observation.sent || !link->has(engine::TierPower::kProbe)) return std::nullopt;
  link->catch_up();
  const base::Mono end = std::max(observation.finished, *observation.sent);
  const auto share =
      engine::tier_share(link->spans_within(*observation.sent, end), *observation.sent, observation.first_token, end);
  return domain::ProbeTimes{
      .tokenize_ms = share.tokenize_ms, .prefill_ms = share.prefill_ms, .restore_ms = share.state_restore_ms};
}

void Lease::conclude(domain::RequestObservation& observation, bool answered) {
  if (answered) resident_->supervisor().note_served();
  if (answered) note_times(observation);
  observation.probe = probe_times(observation);
  if (resident_->prefix) resident_->prefix->conclude(prompt_, observation);
  observation.before = *before_;
  if (!begun_) return;
  const CounterSampler::Sample ended = surroundings_.counters.after(begun_->counters, ready_.pid);
  observation.process = process_delta(begun_->counters, ended);
  observation.host = begun_->host;
  observation.host.swap_in_bytes = swapped_in_between(begun_->counters, ended);
  note_reading(observation);
}

void Lease::note_times(const domain::RequestObservation& observation) {
  if (observation.admitted && observation.first_token && paid_ == Paid::nothing)
    resident_->first_token_in(*observation.first_token - *observation.admitted);
  if (!alone() || !observation.timings) return;
  if (paid_ == Paid::nothing) resident_->answered_warm(*observation.timings);
  if (paid_ == Paid::wake) resident_->answered_woken(*observation.timings);
}

void Lease::note_reading(const domain::RequestObservation& observation) {
  const auto weights = at(*before_, domain::Layer::artifact).total;
  if (!alone() || !weights || !observation.process || !observation.timings) return;
  resident_->note_reading(observation.process->bytes_read, *weights, observation.timings->generated_tokens);
}

rt::Task<std::string> Lease::fit(std::string path, std::string body, domain::RequestObservation& observation) {
  const std::shared_ptr<PrefixSession> session = resident_->prefix;
  if (!session && resident_->reuses_nothing) co_return without_reuse(path, std::move(body));
  if (!session) co_return body;
  session->attach(ready_.socket_path, ready_.generation);
  co_return co_await session->fit(std::move(path), std::move(body), prompt_, observation.prefix);
}

rt::Task<base::Error> Lease::why_gone() {
  constexpr std::chrono::milliseconds kReaping{500};
  auto reason = co_await resident_->supervisor().exit_reason(ready_.generation, kReaping);
  if (reason)
    co_return base::Error{base::ErrorCode::engine_failed, "the engine " + *reason + "; ask again to start it anew"};
  co_return base::Error{base::ErrorCode::engine_failed,
                        "the engine closed the connection before its answer was complete; ask again"};
}

}  // namespace hearth::keeper
