#pragma once
// Gives back what nobody wishes to keep any longer: watches the votes on every model and cools an idle one when its
// time is up.
//
// The rule: where the time of every vote is up, weights leave memory and the engine stays (hibernate), so that the next
// request finds them again in a fraction of a second; an engine that cannot hibernate is stopped. After an explicit
// unload, or a keep-alive of 0, the engine is stopped and its memory is free. A model that is answering, starting, or
// pinned is left alone; it is looked at again when that ends. So is one whose class was promised more than a cold or
// hibernated engine can give (max_cold_ttft), unless it was told to unload.
//
// Thread: the I/O thread. Owned by the Keeper, whose group runs it and whose map of residents it reads.
#include <functional>
#include <memory>

#include "base/clock.h"
#include "domain/event.h"
#include "domain/model_id.h"
#include "keeper/layer_changer.h"
#include "keeper/resident.h"
#include "rt/notice.h"

namespace hearth::keeper {

class Cooler {
 public:
  struct Parts {
    rt::asio::any_io_executor executor;
    const base::Clock& clock;
    const Residents& residents;
    LayerChanger& changer;
    std::function<bool(const domain::ModelId&)> pinned;
    // Its class was promised a first token that only a serving engine can give.
    std::function<bool(const domain::ModelId&, const Resident&)> must_serve;
    std::function<void(domain::Event)> on_event;  // keep_alive_over; may be empty
  };
  explicit Cooler(Parts parts) : parts_(std::move(parts)), changed_(parts_.executor) {}

  // Until cancelled.
  [[nodiscard]] rt::Task<void> run();
  // Votes or requests have changed: look again.
  void look_again() { changed_.notify_all(); }
  // Cools what is due now. Never fails: what could not be cooled is logged, and tried again after a pause.
  [[nodiscard]] rt::Task<void> cool_what_is_due();

  // Stops an idle engine, for good reason `why`. Errors: those of Supervisor::stop.
  [[nodiscard]] rt::Task<base::Status> stop(domain::ModelId id, std::shared_ptr<Resident> resident, std::string why);

 private:
  [[nodiscard]] rt::Task<void> cool(domain::ModelId id, std::shared_ptr<Resident> resident,
                                    policy::KeepVerdict verdict);
  [[nodiscard]] rt::Task<base::Status> hibernate_or_stop(domain::ModelId id, std::shared_ptr<Resident> resident);
  [[nodiscard]] bool may_cool(const domain::ModelId& id, const Resident& resident) const;
  [[nodiscard]] std::optional<base::Mono> due_at(const domain::ModelId& id, const Resident& resident) const;
  [[nodiscard]] std::optional<base::Mono> next_look() const;
  void tell(const domain::ModelId& id, domain::Layer layer, std::string why) const;

  Parts parts_;
  rt::Notice changed_;
};

}  // namespace hearth::keeper
