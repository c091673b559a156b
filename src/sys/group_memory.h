#pragma once
// The memory that this process's control groups leave it: a container, or a service with MemoryMax, has less than the
// machine. Versions 1 and 2, also both at once (hybrid), as in cgroups(7) and proc_pid_mountinfo(5).
//
// Blocks for a few reads of /proc and /sys. Any thread.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace hearth::sys {

struct GroupFolder {
  int version = 2;
  std::string path;
  friend bool operator==(const GroupFolder&, const GroupFolder&) = default;
};

// The folders of the groups that may limit this process's memory, each version's from its own up to the root of what is
// mounted. `mountinfo`, `cgroup`: texts of /proc/self. Pure.
[[nodiscard]] std::vector<GroupFolder> memory_groups(std::string_view mountinfo, std::string_view cgroup);

struct GroupMemory {
  base::Bytes limit = 0;
  base::Bytes available = 0;  // until the limit, page cache counted as free
  int version = 2;
};
// Of the group that leaves least. Empty where every group allows as much as the machine has, `total`, or more. `sys`:
// where /sys is.
[[nodiscard]] std::optional<GroupMemory> group_memory(const std::vector<GroupFolder>& groups, const std::string& sys,
                                                      base::Bytes total);

// Percent of the last 10 s in which somebody in this process's own group waited for memory; version 2 only.
[[nodiscard]] std::optional<double> group_pressure(const std::vector<GroupFolder>& groups, const std::string& sys);

}  // namespace hearth::sys
