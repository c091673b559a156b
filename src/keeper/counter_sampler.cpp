#include "keeper/counter_sampler.h"

#include <algorithm>

namespace hearth::keeper {

CounterSampler::Sample CounterSampler::now(pid_t pid) { return not_before(clock_.now() - kTogether, pid); }

CounterSampler::Sample CounterSampler::after(const Sample& begun, pid_t pid) {
  return not_before(std::max(begun.at + base::Mono::duration(1), clock_.now() - kTogether), pid);
}

CounterSampler::Sample CounterSampler::not_before(base::Mono oldest, pid_t pid) {
  const auto known = latest_.find(pid);
  if (known != latest_.end() && known->second.at >= oldest) return known->second;
  const Sample fresh{.at = clock_.now(), .process = stats_.storage(pid), .swapped_in = memory_.swapped_in()};
  std::erase_if(latest_, [&](const auto& entry) { return entry.second.at < fresh.at - kTogether; });
  latest_.insert_or_assign(pid, fresh);
  return fresh;
}

std::optional<domain::ProcessDelta> process_delta(const CounterSampler::Sample& begun,
                                                  const CounterSampler::Sample& ended) {
  const auto& [then_read, then_faults] = begun.process;
  const auto& [now_read, now_faults] = ended.process;
  if (!then_read || !now_read || !then_faults || !now_faults) return std::nullopt;
  return domain::ProcessDelta{.bytes_read = *now_read - *then_read, .major_faults = *now_faults - *then_faults};
}

std::optional<base::Bytes> swapped_in_between(const CounterSampler::Sample& begun,
                                              const CounterSampler::Sample& ended) {
  if (!begun.swapped_in || !ended.swapped_in || *ended.swapped_in < *begun.swapped_in) return std::nullopt;
  return *ended.swapped_in - *begun.swapped_in;
}

}  // namespace hearth::keeper
