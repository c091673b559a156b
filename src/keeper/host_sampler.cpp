#include "keeper/host_sampler.h"

namespace hearth::keeper {

HostSampler::Sample HostSampler::sample() {
  const base::Mono now = clock_.now();
  if (!read_at_ || now - *read_at_ > kFresh) {
    reading_ = {.cpu_mhz = memory_.processor_mhz(),
                .gpu_mhz = std::nullopt,
                .load = memory_.load_average(),
                .psi_memory_some_avg10 = memory_.pressure().memory_some_avg10,
                .swap_in_bytes = std::nullopt};
    read_at_ = now;
  }
  return {.reading = reading_, .swapped_in = memory_.swapped_in()};
}

domain::HostReading HostSampler::since(const Sample& begun) const {
  domain::HostReading reading = begun.reading;
  const auto now = memory_.swapped_in();
  if (now && begun.swapped_in && *now >= *begun.swapped_in) reading.swap_in_bytes = *now - *begun.swapped_in;
  return reading;
}

}  // namespace hearth::keeper
