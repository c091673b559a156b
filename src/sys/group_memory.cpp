#include "sys/group_memory.h"

#include <algorithm>

#include "base/text.h"
#include "sys/files.h"
#include "sys/proc_text.h"

namespace hearth::sys {
namespace {

constexpr base::Bytes kLimit = 64 << 10;

struct Mount {
  std::string_view root;  // of the hierarchy, that is seen at `point`
  std::string_view point;
};

// "31 23 0:28 /docker/1 /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory": any number of fields
// before the dash.
std::optional<Mount> mount_in(std::string_view line, int version) {
  const auto dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  const auto fields = base::split(line.substr(0, dash), ' ');
  const auto kind = base::split(line.substr(dash + 3), ' ');
  if (fields.size() < 5 || kind.size() < 3) return std::nullopt;
  if (kind[0] != (version == 2 ? "cgroup2" : "cgroup")) return std::nullopt;
  const auto options = base::split(kind[2], ',');
  if (version == 1 && std::ranges::find(options, "memory") == options.end()) return std::nullopt;
  return Mount{fields[3], fields[4]};
}

// "4:memory:/a/b" (version 1, controllers between commas) or "0::/a/b" (version 2).
std::optional<std::string_view> group_in(std::string_view line, int version) {
  const auto first = line.find(':');
  if (first == std::string_view::npos) return std::nullopt;
  const auto second = line.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto controllers = base::split(line.substr(first + 1, second - first - 1), ',');
  const bool found =
      version == 2 ? line.starts_with("0::") : std::ranges::find(controllers, "memory") != controllers.end();
  if (!found) return std::nullopt;
  return line.substr(second + 1);
}

template <typename Found>
std::optional<Found> first_in(std::string_view text, std::optional<Found> (*find)(std::string_view, int), int version) {
  for (const auto line : base::split(text, '\n')) {
    if (auto found = find(line, version)) return found;
  }
  return std::nullopt;
}

// A group outside of what is mounted (another namespace's) shows as the mount's own folder.
std::string_view below(std::string_view group, std::string_view root) {
  if (group == "/" || !group.starts_with('/')) return "";
  if (root == "/") return group;
  const bool inside = group.starts_with(root) && (group.size() == root.size() || group[root.size()] == '/');
  return inside ? group.substr(root.size()) : "";
}

void add_groups(std::vector<GroupFolder>& groups, std::string_view mountinfo, std::string_view cgroup, int version) {
  const auto mount = first_in<Mount>(mountinfo, mount_in, version);
  const auto group = first_in<std::string_view>(cgroup, group_in, version);
  if (!mount || !group) return;
  std::string_view inside = below(*group, mount->root);
  for (; !inside.empty(); inside = inside.substr(0, inside.rfind('/')))
    groups.push_back({version, std::string(mount->point).append(inside)});
  groups.push_back({version, std::string(mount->point)});
}

std::string file_in(const GroupFolder& group, const std::string& sys, std::string_view name) {
  const std::string path = group.path.starts_with("/sys/") ? sys + group.path.substr(4) : group.path;
  return LinuxFiles().read(path + "/" + std::string(name), kLimit).value_or("");
}

std::optional<base::Bytes> number_of(const GroupFolder& group, const std::string& sys, std::string_view name) {
  return number_in<base::Bytes>(file_in(group, sys, name));
}

// Above memory.high a group is slowed down until it has given memory back; "max" is no number.
std::optional<base::Bytes> limit_of(const GroupFolder& group, const std::string& sys) {
  if (group.version == 1) return number_of(group, sys, "memory.limit_in_bytes");
  const auto most = number_of(group, sys, "memory.max");
  const auto high = number_of(group, sys, "memory.high");
  return most && high ? std::min(*most, *high) : (most ? most : high);
}

// What the kernel takes back before it says no. Version 1 counts those of the groups below under names of their own.
base::Bytes reclaimable(const GroupFolder& group, const std::string& sys) {
  const std::string text = file_in(group, sys, "memory.stat");
  const auto count = [&](std::string_view name) { return counter_of(text, name).value_or(0); };
  if (group.version == 1) return count("total_inactive_file") + count("total_active_file");
  return count("inactive_file") + count("active_file") + count("slab_reclaimable");
}

// Asked often, and most groups have no limit: of those no more is read.
std::optional<GroupMemory> memory_of(const GroupFolder& group, const std::string& sys, base::Bytes total) {
  const auto limit = limit_of(group, sys);
  if (!limit || *limit >= total) return std::nullopt;
  const auto used = number_of(group, sys, group.version == 1 ? "memory.usage_in_bytes" : "memory.current");
  if (!used) return std::nullopt;
  const base::Bytes held = *used - std::min(*used, reclaimable(group, sys));
  return GroupMemory{*limit, *limit - std::min(*limit, held), group.version};
}

}  // namespace

std::vector<GroupFolder> memory_groups(std::string_view mountinfo, std::string_view cgroup) {
  std::vector<GroupFolder> groups;
  for (const int version : {2, 1})
    add_groups(groups, mountinfo, cgroup, version);
  return groups;
}

std::optional<GroupMemory> group_memory(const std::vector<GroupFolder>& groups, const std::string& sys,
                                        base::Bytes total) {
  std::optional<GroupMemory> least;
  for (const GroupFolder& group : groups) {
    const auto memory = memory_of(group, sys, total);
    if (!memory) continue;
    if (!least) least = memory;
    if (memory->limit < least->limit) least->limit = memory->limit, least->version = memory->version;
    least->available = std::min(least->available, memory->available);
  }
  return least;
}

std::optional<double> group_pressure(const std::vector<GroupFolder>& groups, const std::string& sys) {
  const auto own = std::ranges::find(groups, 2, &GroupFolder::version);
  if (own == groups.end()) return std::nullopt;
  return some_avg10(file_in(*own, sys, "memory.pressure"));
}

}  // namespace hearth::sys
