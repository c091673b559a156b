#pragma once
// The machine as it stands: memory, pressure, and what each mechanism can do here (native API: /machine, `hearth
// doctor`).
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace hearth::domain {

enum class CapabilityState { works, degraded, absent };
[[nodiscard]] std::string_view name_of(CapabilityState state);
[[nodiscard]] std::optional<CapabilityState> capability_state_named(std::string_view name);

// One mechanism, tried rather than assumed.
struct Capability {
  std::string name;  // "cachestat", "pidfd", "psi_memory", "memlock", "engine", …
  CapabilityState state = CapabilityState::absent;
  std::string why;                 // what was found, one sentence
  std::optional<std::string> fix;  // what a person can do about it
};

// Who has how much memory, of which kind.
struct MemoryShare {
  std::string owner;  // a model, "other services", "reserve"
  std::string kind;   // weights, kv, compute, prefix, overhead, other_services, reserve
  base::Bytes bytes = 0;
  std::optional<std::string> phase = std::nullopt;  // of a model's engine: starting, running, stopping
};

// What Hearth gives out to models, and who has it.
struct MemoryPlan {
  base::Bytes budget = 0;
  base::Bytes reserve = 0;   // left to the rest of the machine
  base::Bytes reserved = 0;  // promised to models, or measured of them
  base::Bytes free = 0;      // what the next model may have
  std::vector<MemoryShare> owners;
  std::size_t waiting = 0;  // requests that wait for memory
  std::string pressure;     // one clause: "no pressure", what is seen, or who thrashes
};

struct MachineView {
  std::optional<base::Bytes> memory_total;
  std::optional<base::Bytes> memory_available;
  std::optional<base::Bytes> page_cache;
  std::optional<base::Bytes> swap_total;
  std::optional<base::Bytes> swap_free;
  std::optional<double> psi_memory_some_avg10;
  std::optional<double> psi_io_some_avg10;
  std::optional<double> load;
  unsigned processors = 0;
  std::optional<MemoryPlan> plan = std::nullopt;
  std::vector<Capability> capabilities;
};

}  // namespace hearth::domain
