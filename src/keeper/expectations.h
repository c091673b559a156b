#pragma once
// Which models are expected to be used soon, and who says so: the schedules of the configuration, or what was learnt of
// when they are used. And what became of each load that nobody had asked for. Decides nothing about memory and starts
// nothing: the Warmer does.
//
// A schedule counts from its beginning, less the time that a load takes, to its end. What was learnt counts from the
// next instant that policy::Demand names, less the same: to the 99th percentile of the idle gaps where those say so,
// for an hour where the profile of the week does. A model that somebody told to go is not expected again before it is
// used, or before a schedule of its begins anew.
//
// Thread: the I/O thread. Owned by the Keeper.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/event.h"
#include "domain/model.h"
#include "keeper/demands.h"
#include "policy/schedule.h"

namespace hearth::keeper {

struct Expectation {
  domain::KeepSource source = domain::KeepSource::demand;  // or schedule; config: its class was promised so
  base::Mono until = {};
  std::string why;  // the schedule as it is written; "learnt"; "max_cold_ttft of class voice"
};

// As events and votes name it: "schedule", "expected demand", "max_cold_ttft".
[[nodiscard]] std::string owner_of(domain::KeepSource source);

class Expectations {
 public:
  enum class Outcome { used, wasted };
  struct Settled {
    Outcome outcome = Outcome::used;
    domain::KeepSource source = domain::KeepSource::demand;
  };
  struct Counts {
    std::uint64_t prewarms = 0;
    std::uint64_t used = 0;
    std::uint64_t wasted = 0;
  };

  // `learn` false: only schedules count.
  Expectations(Demands& demands, std::vector<policy::Schedule> schedules, bool learn)
      : demands_(demands), schedules_(std::move(schedules)), learn_(learn) {}

  // Nothing is ever expected.
  [[nodiscard]] bool idle() const { return schedules_.empty() && (!learn_ || demands_.empty()); }
  // What is expected of it now; `lead`: how long before it has to begin; `promised`: only a warm model keeps what its
  // class was promised. Remembers what has begun.
  [[nodiscard]] std::optional<Expectation> look(const domain::ModelId& id, domain::ServiceClass service_class,
                                                base::Duration lead, bool promised = false);
  // Whether what was learnt of it may be acted on: not where too many such loads were wasted.
  [[nodiscard]] bool may_prewarm(const domain::ModelId& id) const;

  // A use begins: a load that was waiting for one was worth it.
  [[nodiscard]] std::optional<Settled> used(const domain::ModelId& id);
  // Somebody said that it is to go.
  void told_to_go(const domain::ModelId& id) { watched_[id].told_to_go = true; }
  // It was loaded for this and nobody has used it yet.
  void warmed(const domain::ModelId& id, const Expectation& expectation);
  // Whether one that was loaded has waited in vain: its time is up, or it is gone (`there` false).
  [[nodiscard]] std::optional<Settled> waited(const domain::ModelId& id, bool there);
  [[nodiscard]] bool waits_for_use(const domain::ModelId& id) const;
  // A load failed: it is not tried again for a while.
  void failed(const domain::ModelId& id, base::Mono until) { watched_[id].not_before = until; }
  // Whether an event is one of those that are counted here.
  [[nodiscard]] static bool counts(const domain::Event& event);
  // Such an event of an earlier run: what this counted then counts on.
  void count_before(const domain::ModelId& id, const domain::Event& event);
  void forget(const domain::ModelId& id) { watched_.erase(id); }

  [[nodiscard]] domain::ExpectedUse describe(const domain::ModelId& id, domain::ServiceClass service_class,
                                             base::Duration horizon, base::Wall wall) const;

 private:
  struct Warmed {
    base::Mono until = {};
    domain::KeepSource source = domain::KeepSource::demand;
  };
  struct Watched {
    bool told_to_go = false;
    bool scheduled = false;             // at the last look
    std::optional<base::Mono> planned;  // the next instant that was learnt
    std::optional<Expectation> learnt;  // one that has begun
    std::optional<Warmed> warmed;
    base::Mono not_before = base::Mono::min();         // after a load that failed
    base::Mono learnt_not_before = base::Mono::min();  // after one for what was learnt that was wasted
    Counts counts;
  };
  [[nodiscard]] std::optional<Expectation> look_at_schedules(const domain::ModelId& id,
                                                             domain::ServiceClass service_class, base::Duration lead,
                                                             Watched& watched) const;
  [[nodiscard]] std::optional<Expectation> look_at_demand(const domain::ModelId& id, base::Duration lead,
                                                          Watched& watched) const;
  // Counts what became of a load; with `demand`, for or against what was learnt.
  static void count(Counts& counts, policy::Demand* demand, Outcome outcome);
  [[nodiscard]] Settled settle(const domain::ModelId& id, Watched& watched, Outcome outcome);

  Demands& demands_;
  std::vector<policy::Schedule> schedules_;
  bool learn_;
  std::map<domain::ModelId, Watched> watched_;
};

}  // namespace hearth::keeper
