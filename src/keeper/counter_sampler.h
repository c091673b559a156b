#pragma once
// What the kernel counted of an engine and of the host up to a moment, noted when a request is sent and when it ended.
//
// A reading costs the processor some hundred microseconds, which the engine's own threads want: requests that are sent
// within kTogether share one, so 32 at once pay for one. What a shared reading can hide or add is what happened within
// kTogether before the request was sent. Thread: the I/O thread.
#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>

#include "base/clock.h"
#include "domain/request.h"
#include "sys/memory.h"
#include "sys/proc_stats.h"

namespace hearth::keeper {

class CounterSampler {
 public:
  static constexpr std::chrono::milliseconds kTogether{5};

  struct Sample {
    base::Mono at{};
    sys::StorageCounters process;
    std::optional<base::Bytes> swapped_in;  // since boot
  };

  CounterSampler(const sys::ProcStats& stats, const sys::Memory& memory, const base::Clock& clock)
      : stats_(stats), memory_(memory), clock_(clock) {}

  // At most kTogether old.
  [[nodiscard]] Sample now(pid_t pid);
  // As now(), but never a reading that is as old as `begun`.
  [[nodiscard]] Sample after(const Sample& begun, pid_t pid);

 private:
  [[nodiscard]] Sample not_before(base::Mono oldest, pid_t pid);

  const sys::ProcStats& stats_;
  const sys::Memory& memory_;
  const base::Clock& clock_;
  std::map<pid_t, Sample> latest_;  // those at most kTogether old when the last reading was taken
};

// What the process did between two samples; empty where the kernel did not say.
[[nodiscard]] std::optional<domain::ProcessDelta> process_delta(const CounterSampler::Sample& begun,
                                                                const CounterSampler::Sample& ended);
// What the host swapped in between two samples.
[[nodiscard]] std::optional<base::Bytes> swapped_in_between(const CounterSampler::Sample& begun,
                                                            const CounterSampler::Sample& ended);

}  // namespace hearth::keeper
