#include "sys/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "sys/files.h"
#include "sys/proc_text.h"

namespace hearth::sys {
namespace {

// Some of these files grow with the number of processors.
constexpr base::Bytes kLimit = 4 << 20;

std::string text_of(const std::string& path) { return LinuxFiles().read(path, kLimit).value_or(""); }

void raise(std::optional<double>& highest, std::optional<double> value) {
  if (value && *value > highest.value_or(0)) highest = value;
}

// cpufreq, in kHz.
std::optional<double> scaling_mhz(const std::string& cpus) {
  std::optional<double> highest;
  for (const auto& name : LinuxFiles().list(cpus).value_or(std::vector<std::string>{})) {
    if (!name.starts_with("cpu")) continue;
    const auto khz = number_in<double>(text_of(cpus + "/" + name + "/cpufreq/scaling_cur_freq"));
    if (khz) raise(highest, *khz / 1000);
  }
  return highest;
}

// "cpu MHz		: 2899.998", x86 only.
std::optional<double> cpuinfo_mhz(std::string_view text) {
  std::optional<double> highest;
  for (const auto line : base::split(text, '\n')) {
    const auto colon = line.find(':');
    if (line.starts_with("cpu MHz") && colon != std::string_view::npos) {
      raise(highest, number_in<double>(line.substr(colon + 1)));
    }
  }
  return highest;
}

}  // namespace

LinuxMemory::LinuxMemory(std::string proc, std::string sys)
    : proc_(std::move(proc)),
      sys_(std::move(sys)),
      groups_(memory_groups(text_of(proc_ + "/self/mountinfo"), text_of(proc_ + "/self/cgroup"))) {}

MemoryReading LinuxMemory::memory() const {
  const auto text = text_of(proc_ + "/meminfo");
  MemoryReading reading{value_of(text, "MemTotal"), value_of(text, "MemAvailable"), value_of(text, "Cached"),
                        value_of(text, "SwapTotal"), value_of(text, "SwapFree")};
  const auto group = group_memory(groups_, sys_, reading.total.value_or(std::numeric_limits<base::Bytes>::max()));
  if (!group) return reading;
  reading.total = reading.group_limit = group->limit;
  reading.available = std::min(reading.available.value_or(group->available), group->available);
  return reading;
}

PressureReading LinuxMemory::pressure() const {
  PressureReading reading{some_avg10(text_of(proc_ + "/pressure/memory")), some_avg10(text_of(proc_ + "/pressure/io"))};
  if (const auto own = group_pressure(groups_, sys_))
    reading.memory_some_avg10 = std::max(reading.memory_some_avg10.value_or(0), *own);
  return reading;
}

std::optional<double> LinuxMemory::load_average() const { return leading_number<double>(text_of(proc_ + "/loadavg")); }

std::optional<base::Bytes> LinuxMemory::swapped_in() const {
  const auto pages = counter_of(text_of(proc_ + "/vmstat"), "pswpin");
  if (!pages) return std::nullopt;
  return *pages * static_cast<base::Bytes>(::sysconf(_SC_PAGESIZE));
}

// Kernels before 5.9 count file pages only, under the shorter name.
std::optional<std::uint64_t> LinuxMemory::refaults() const {
  const auto text = text_of(proc_ + "/vmstat");
  const auto file = counter_of(text, "workingset_refault_file");
  if (!file) return counter_of(text, "workingset_refault");
  return *file + counter_of(text, "workingset_refault_anon").value_or(0);
}

// Both leave out what was scanned for a group's limit (mm/vmscan.c, shrink_inactive_list).
std::optional<std::uint64_t> LinuxMemory::reclaim_scans() const {
  if (memory().group_limit) return std::nullopt;
  const auto text = text_of(proc_ + "/vmstat");
  const auto in_background = counter_of(text, "pgscan_kswapd");
  const auto on_demand = counter_of(text, "pgscan_direct");
  if (!in_background || !on_demand) return std::nullopt;
  return *in_background + *on_demand;
}

std::optional<double> LinuxMemory::processor_mhz() const {
  if (const auto mhz = scaling_mhz(sys_ + "/devices/system/cpu")) return mhz;
  return cpuinfo_mhz(text_of(proc_ + "/cpuinfo"));
}

std::optional<LockLimit> LinuxMemory::lock_limit() const {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return std::nullopt;
  if (limit.rlim_cur == RLIM_INFINITY) return LockLimit{};
  return LockLimit{limit.rlim_cur};
}

}  // namespace hearth::sys
