#pragma once
// Replays a trace through the residency policies: the same pure code that the live server runs, with invented time.
//
// Each request either finds its model serving, or waits until it is: for memory, for its turn, for the load. That wait
// is its cold-start time. Loads take what the cost model says, side by side; how long a request then holds its model
// too. Files of a stopped stock engine count as cached (their load reads nothing), without using any of the memory: a
// gift to the peers. Deterministic: the same trace and setup give the same bytes. One thread.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

struct ClassResult {
  std::uint64_t requests = 0;
  std::uint64_t cold_starts = 0;
  double cold_start_s = 0;
  double queued_s = 0;
  double ttft_p50_s = 0;
  double ttft_p95_s = 0;
  double ttft_p99_s = 0;
};

struct ReplayResult {
  std::string contestant;
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;      // could never fit
  std::uint64_t unfinished = 0;   // still waiting when the trace was over
  std::uint64_t cold_starts = 0;  // requests that had to wait for their model
  double cold_start_s = 0;        // how long for the load, together
  double queued_s = 0;            // and before that for memory or their turn
  std::array<ClassResult, policy::kClasses> by_class;
  std::uint64_t loads = 0;  // from cold
  std::uint64_t wakes = 0;  // from hibernation
  std::uint64_t demotions = 0;
  std::uint64_t voice_evicted_by_background = 0;
  std::uint64_t prewarms = 0;
  std::uint64_t prewarm_hits = 0;
  std::uint64_t prewarm_wasted = 0;
  policy::Footprint most_reserved;
  std::uint64_t broken_invariants = 0;
};

[[nodiscard]] ReplayResult replay(const Trace& trace, const ReplaySetup& setup);

}  // namespace hearth::lab
