#pragma once
// What was learnt of when each model is used: from this run, and from the history of earlier ones. And the instant that
// it is, as the policies want it: on the monotonic clock, and in the week of the people who live here.
//
// Thread: the I/O thread. Owned by the Keeper.
#include <map>
#include <span>

#include "base/clock.h"
#include "domain/model_id.h"
#include "policy/demand.h"
#include "sys/time_zone.h"

namespace hearth::keeper {

class Demands {
 public:
  // `zone` null: UTC.
  Demands(const base::Clock& clock, const sys::TimeZone* zone, const policy::DemandConfig& config)
      : clock_(clock), zone_(zone), config_(config) {}

  [[nodiscard]] policy::Moment moment() const { return moment_at(clock_.wall()); }
  [[nodiscard]] policy::Moment moment_in(base::Duration span) const {
    return moment_at(clock_.wall() + std::chrono::duration_cast<base::Wall::duration>(span));
  }
  // An instant on the wall clock, on the monotonic one by how far it is from now.
  [[nodiscard]] policy::Moment moment_at(base::Wall wall) const;

  // Somebody begins to use a model, or to wait for it, and ends.
  void use_began(const domain::ModelId& id) { known_[id].request_began(moment(), config_); }
  void use_ended(const domain::ModelId& id) { known_[id].request_ended(moment()); }

  struct Use {
    base::Wall began;
    base::Duration lasted = {};
  };
  // Uses of earlier runs, in any order. REQUIRES: nobody has used the model in this one.
  void learn(const domain::ModelId& id, std::span<const Use> uses);

  // Nothing is known of it: all zero.
  [[nodiscard]] double reuse(const domain::ModelId& id, base::Duration horizon) const;
  [[nodiscard]] double uses(const domain::ModelId& id) const;
  // Null where nothing is known.
  [[nodiscard]] policy::Demand* find(const domain::ModelId& id);
  [[nodiscard]] const policy::Demand* find(const domain::ModelId& id) const;
  [[nodiscard]] const policy::DemandConfig& config() const { return config_; }
  [[nodiscard]] bool empty() const { return known_.empty(); }
  void forget(const domain::ModelId& id) { known_.erase(id); }

 private:
  const base::Clock& clock_;
  const sys::TimeZone* zone_;
  policy::DemandConfig config_;
  std::map<domain::ModelId, policy::Demand> known_;
};

}  // namespace hearth::keeper
