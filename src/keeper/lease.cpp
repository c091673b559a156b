#include "keeper/lease.h"

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
      engine_was_busy_(resident_->every_slot_taken()) {
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

void Lease::note_sent() {
  if (!begun_) begun_ = Begin{surroundings_.stats.read(ready_.pid), surroundings_.host.sample()};
}

void Lease::conclude(domain::RequestObservation& observation, bool answered) {
  if (answered) resident_->supervisor().note_served();
  observation.before = *before_;
  if (!begun_) return;
  const sys::ProcReading& then = begun_->process;
  const sys::ProcReading now = surroundings_.stats.read(ready_.pid);
  if (now.read_from_storage && then.read_from_storage && now.major_faults && then.major_faults) {
    observation.process = domain::ProcessDelta{.bytes_read = *now.read_from_storage - *then.read_from_storage,
                                               .major_faults = *now.major_faults - *then.major_faults};
  }
  observation.host = surroundings_.host.since(begun_->host);
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
