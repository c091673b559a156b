#pragma once
// Carries out a plan of demotions, one after the other: weights out of memory, or the engine stopped.
//
// Each victim is looked at again before its turn; one that is used, awaited, pinned or changing by then is passed over,
// for the decision is made anew afterwards. What failed is logged, told, and not tried in the same way again: an engine
// that cannot hibernate loses that rung, one that would not stop stays "stopping" and is nobody's victim.
//
// Thread: the I/O thread. Owned by the Room. Cancelling run() ends it between two demotions or in the engine's
// hibernate.
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "domain/event.h"
#include "keeper/books.h"
#include "keeper/layer_changer.h"
#include "policy/eviction.h"

namespace hearth::keeper {

class Demoter {
 public:
  struct Parts {
    const base::Clock& clock;
    const Residents& residents;
    Books& books;
    std::function<rt::Task<WorkResult>(std::shared_ptr<Resident>, Pages)> hibernate;
    std::function<bool(const domain::ModelId&)> pinned;
    std::function<void(domain::Event)> on_event;  // hibernated, evicted, eviction_failed; may be empty
    // A claim on a model that only waits for memory is no hindrance where it would be a deadlock otherwise.
    std::function<std::size_t(const domain::ModelId&)> waiters;
  };
  explicit Demoter(Parts parts) : parts_(std::move(parts)) {}

  // `by`: "request for b", "memory pressure". `pages`: of those that hibernate.
  [[nodiscard]] rt::Task<void> run(policy::EvictionPlan plan, std::string by, Pages pages);
  // The pages of hibernated weights that were kept.
  [[nodiscard]] rt::Task<void> drop_pages(std::string by);

 private:
  [[nodiscard]] rt::Task<void> demote(std::shared_ptr<Resident> resident, policy::Demotion demotion, std::string by,
                                      Pages pages);
  [[nodiscard]] rt::Task<base::Result<std::optional<base::Bytes>>> do_it(std::shared_ptr<Resident> resident,
                                                                         policy::Rung to, Pages pages);
  [[nodiscard]] bool may_demote(const domain::ModelId& id, const Resident& resident) const;
  void tell(const char* what, const policy::Demotion& demotion, const std::string& by, std::string why,
            std::optional<base::Bytes> bytes) const;

  Parts parts_;
};

}  // namespace hearth::keeper
