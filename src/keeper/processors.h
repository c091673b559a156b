#pragma once
// Keeps engines from hindering each other on the processors: sets their nice values by whom they work for, and passes
// the turn on among those that work for the same class (policy/niceness.h). Where this process may not lower a nice
// value again, only engines of models of class background give way, and always. Background that gave way for the
// starvation bound without a break counts as interactive.
//
// Thread: the I/O thread. Owned by the Keeper, whose group runs it and whose map of residents it reads.
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "domain/model_id.h"
#include "keeper/resident.h"
#include "policy/niceness.h"
#include "policy/residency_config.h"
#include "rt/notice.h"

namespace hearth::keeper {

class Processors {
 public:
  struct Parts {
    rt::asio::any_io_executor executor;
    const base::Clock& clock;
    const Residents& residents;
    bool may_lower_niceness = false;                                       // sys::Processes::may_lower_niceness()
    std::function<domain::ServiceClass(const domain::ModelId&)> class_of;  // by the configuration
    // Long against what a switch costs, short against what a listener notices.
    std::chrono::milliseconds turn{500};
    base::Duration starvation_bound = policy::AdmissionConfig{}.starvation_bound;
  };
  explicit Processors(Parts parts) : parts_(std::move(parts)), changed_(parts_.executor) {}

  // Until cancelled.
  [[nodiscard]] rt::Task<void> run();
  // This model works for one more. If it did not work before and now takes turns, it has the first, so that what is
  // short is not kept waiting by what is long.
  void began(const domain::ModelId& id);
  // A model works for one less.
  void ended() { share(); }
  // The next of those that take turns has it now; run() does so when its time is up.
  void pass_turn();
  // By the time that it is now; run() does so when somebody's patience is at its end.
  void share();

 private:
  // As they are, and as they count, both in the order of the residents.
  [[nodiscard]] std::vector<policy::Worker> at_work() const;
  [[nodiscard]] std::vector<policy::Worker> workers() const;
  void note_outranked();
  // Until the next of those that are outranked will have been for the bound.
  [[nodiscard]] std::optional<base::Duration> patience_left() const;
  // In the order of their ids.
  [[nodiscard]] std::vector<domain::ModelId> in_turns() const;

  Parts parts_;
  std::optional<domain::ModelId> turn_;  // of those that take turns, as long as there are any
  std::map<domain::ModelId, base::Mono> outranked_since_;
  rt::Notice changed_;
};

// While it lives the model works: for an asker of this class, or, without one, by itself.
class Work {
 public:
  Work(Processors& processors, const domain::ModelId& id, std::shared_ptr<Resident> resident,
       std::optional<domain::ServiceClass> asker)
      : processors_(processors), resident_(std::move(resident)), asker_(asker) {
    resident_->work_began(asker_);
    processors_.began(id);
  }
  ~Work() {
    resident_->work_ended(asker_);
    processors_.ended();
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

 private:
  Processors& processors_;
  std::shared_ptr<Resident> resident_;
  std::optional<domain::ServiceClass> asker_;
};

}  // namespace hearth::keeper
