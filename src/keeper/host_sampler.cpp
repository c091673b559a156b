#include "keeper/host_sampler.h"

namespace hearth::keeper {

domain::HostReading HostSampler::reading() {
  const base::Mono now = clock_.now();
  if (!read_at_ || now - *read_at_ > kFresh) {
    reading_ = {.cpu_mhz = memory_.processor_mhz(),
                .gpu_mhz = std::nullopt,
                .load = memory_.load_average(),
                .psi_memory_some_avg10 = memory_.pressure().memory_some_avg10,
                .swap_in_bytes = std::nullopt};
    read_at_ = now;
  }
  return reading_;
}

}  // namespace hearth::keeper
