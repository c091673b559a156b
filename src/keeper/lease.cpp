#include "keeper/lease.h"

namespace hearth::keeper {

Lease::Lease(std::shared_ptr<Resident> resident, engine::Ready ready,
             std::shared_ptr<const domain::LayerReadings> before, Surroundings surroundings,
             std::function<void(Resident&)> on_end)
    : resident_(std::move(resident)),
      ready_(std::move(ready)),
      before_(std::move(before)),
      surroundings_(surroundings),
      on_end_(std::move(on_end)),
      engine_was_busy_(resident_->every_slot_taken()),
      begun_(surroundings.stats.read(ready_.pid)),
      host_begun_(surroundings.host.sample()) {
  resident_->request_began(surroundings_.clock.wall());
}

Lease::~Lease() {
  resident_->request_ended();
  on_end_(*resident_);
}

void Lease::describe(domain::RequestObservation& observation) const {
  observation.start = ready_.start;
  observation.engine_was_busy = engine_was_busy_;
}

void Lease::conclude(domain::RequestObservation& observation, bool answered) {
  if (answered) resident_->supervisor().note_served();
  if (resident_->prefix) resident_->prefix->conclude(prompt_, observation);
  const sys::ProcReading now = surroundings_.stats.read(ready_.pid);
  if (now.read_from_storage && begun_.read_from_storage && now.major_faults && begun_.major_faults) {
    observation.process = domain::ProcessDelta{.bytes_read = *now.read_from_storage - *begun_.read_from_storage,
                                               .major_faults = *now.major_faults - *begun_.major_faults};
  }
  observation.host = surroundings_.host.since(host_begun_);
  observation.before = *before_;
}

rt::Task<std::string> Lease::fit(std::string path, std::string body, domain::RequestObservation& observation) {
  const std::shared_ptr<PrefixSession> session = resident_->prefix;
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
