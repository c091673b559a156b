#pragma once
// What came of a replay, counted the same way whether time was invented or a server answered.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/admission.h"
#include "policy/footprint.h"

namespace hearth::lab {

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

// One request that got its answer.
struct Served {
  domain::ServiceClass service_class = domain::ServiceClass::interactive;
  bool cold = false;    // it had to wait for its model
  double queued_s = 0;  // for memory or its turn
  double load_s = 0;    // for the load itself
  double ttft_s = 0;
};

// Sums while a replay runs. One thread.
class Tally {
 public:
  explicit Tally(std::string contestant) { result_.contestant = std::move(contestant); }

  // The counters that nobody but the replay itself knows.
  [[nodiscard]] ReplayResult& result() { return result_; }
  void asked(domain::ServiceClass service_class);
  void served(const Served& one);
  // With the percentiles. Once.
  [[nodiscard]] ReplayResult finish();

 private:
  std::array<std::vector<float>, policy::kClasses> ttft_;
  ReplayResult result_;
};

}  // namespace hearth::lab
