#pragma once
// Replays a trace through the residency policies: the same pure code that the live server runs, with invented time.
//
// Each request either finds its model serving, or waits until it is: for memory, for its turn, for the load. That wait
// is its cold-start time. Loads take what the cost model says, side by side; how long a request then holds its model
// too. Files of a stopped stock engine count as cached (their load reads nothing), without using any of the memory: a
// gift to the peers. Deterministic: the same trace and setup give the same bytes. One thread.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/tally.h"
#include "lab/trace.h"
#include "policy/eviction.h"
#include "policy/residency_config.h"
#include "policy/schedule.h"
#include "policy/warming.h"

namespace hearth::lab {

// One way of running the household.
struct Contestant {
  std::string name;
  policy::EvictionPolicy policy = policy::EvictionPolicy::hearth;
  bool layers = true;    // every rung; otherwise start and stop of a stock engine
  bool warming = false;  // loads that nobody waits for
  bool unloads = false;  // when a model's keep-alive is over
  bool classes = true;   // a lower class spares what is held for a higher one, and waits for its turn
};

// What peers do (stock engine): least recently used; keep-alive of five minutes that unloads; three models at most.
// Then, with all layers: LRU, GDSF, Hearth without and with warming, and the offline rule that knows the future.
[[nodiscard]] std::vector<Contestant> all_contestants();

struct ReplaySetup {
  Contestant contestant;
  policy::Footprint memory;
  CostModel costs;
  policy::ResidencyConfig config;
  policy::WarmingConfig warming;
  std::vector<policy::Schedule> schedules;
  base::Duration keep_alive = std::chrono::minutes(5);  // of interactive models; voice is kept for ever
  // Every decision is checked: no victim in use, nothing promised beyond the memory. Costs a little.
  bool check = true;
};

[[nodiscard]] ReplayResult replay(const Trace& trace, const ReplaySetup& setup);

}  // namespace hearth::lab
