#pragma once
// What this machine lets Hearth measure and do. Each mechanism is tried, not assumed from a version.
#include <optional>
#include <string>
#include <vector>

namespace hearth::sys {

enum class CapabilityState { works, degraded, absent };

struct Capability {
  std::string name;
  CapabilityState state = CapabilityState::absent;
  std::string why;                 // what was found, one sentence
  std::optional<std::string> fix;  // what a person can do about it
};

// Where things are; a test gives a tree of its own. The system calls (cachestat, mincore, pidfd, limits) are always
// real.
struct ProbeRoots {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string scratch = "/tmp";  // a folder where a small file can be made and removed
};

// In this order: cachestat, mincore, pidfd, psi_memory, memlock, io_accounting, thread_times, cgroup, cpufreq, swap,
// niceness. Blocks for some milliseconds.
[[nodiscard]] std::vector<Capability> probe_capabilities(const ProbeRoots& roots = {});

}  // namespace hearth::sys
