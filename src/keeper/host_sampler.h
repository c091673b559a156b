#pragma once
// The state of the host that is noted with every request: clocks, load, pressure. Thread: the I/O thread.
#include <optional>

#include "base/clock.h"
#include "domain/request.h"
#include "sys/memory.h"

namespace hearth::keeper {

class HostSampler {
 public:
  HostSampler(const sys::Memory& memory, const base::Clock& clock) : memory_(memory), clock_(clock) {}

  // At most kFresh old: requests that come together share one reading. swap_in_bytes is empty: that is counted, not
  // read.
  [[nodiscard]] domain::HostReading reading();

 private:
  static constexpr std::chrono::milliseconds kFresh{500};
  const sys::Memory& memory_;
  const base::Clock& clock_;
  std::optional<base::Mono> read_at_;
  domain::HostReading reading_;
};

}  // namespace hearth::keeper
