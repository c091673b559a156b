#pragma once
// What was learnt of when each model is used: from this run, and from the history of earlier ones, which may come
// later.
//
// Thread: the I/O thread. Owned by the Keeper.
#include <map>
#include <optional>
#include <vector>

#include "domain/model_id.h"
#include "keeper/calendar.h"

namespace hearth::keeper {

class Demands {
 public:
  Demands(const Calendar& calendar, const policy::DemandConfig& config) : calendar_(calendar), config_(config) {}

  [[nodiscard]] const Calendar& calendar() const { return calendar_; }
  [[nodiscard]] const policy::DemandConfig& config() const { return config_; }

  // Somebody begins to use a model, or to wait for it, and ends.
  void use_began(const domain::ModelId& id) { note({id, calendar_.now(), true}); }
  void use_ended(const domain::ModelId& id) { note({id, calendar_.now(), false}); }

  // What earlier runs saw is still being read: until learn(), uses are counted and remembered too.
  void await_past() { meanwhile_.emplace(); }
  // What earlier runs saw, as if it had been known from the beginning. REQUIRES: await_past(), or no use yet.
  void learn(std::map<domain::ModelId, policy::Demand> past);

  // Nothing is known of it: all zero.
  [[nodiscard]] double reuse(const domain::ModelId& id, base::Duration horizon) const;
  [[nodiscard]] double uses(const domain::ModelId& id) const;
  // Null where nothing is known.
  [[nodiscard]] policy::Demand* find(const domain::ModelId& id);
  [[nodiscard]] const policy::Demand* find(const domain::ModelId& id) const;
  [[nodiscard]] bool empty() const { return known_.empty(); }
  void forget(const domain::ModelId& id);

 private:
  struct Step {
    domain::ModelId id;
    policy::Moment at;
    bool began;
  };
  void note(Step step);
  void count(const Step& step);

  Calendar calendar_;
  policy::DemandConfig config_;
  std::map<domain::ModelId, policy::Demand> known_;
  std::optional<std::vector<Step>> meanwhile_;  // empty: the past is known
};

}  // namespace hearth::keeper
