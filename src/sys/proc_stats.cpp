#include "sys/proc_stats.h"

#include <unistd.h>

#include "base/text.h"
#include "sys/files.h"
#include "sys/proc_text.h"

namespace hearth::sys {
namespace {

constexpr base::Bytes kLimit = 65536;

// "running waiting timeslices", nanoseconds. All zero: the kernel does not count (schedstats not built in).
std::optional<ThreadTimes> parse_schedstat(std::string_view text) {
  const auto fields = base::split(base::trim(text), ' ');
  if (fields.size() != 3) return std::nullopt;
  const auto running = number_in<std::int64_t>(fields[0]);
  const auto waiting = number_in<std::int64_t>(fields[1]);
  if (!running || !waiting || (*running == 0 && *waiting == 0)) return std::nullopt;
  return ThreadTimes{std::chrono::nanoseconds(*running), std::chrono::nanoseconds(*waiting)};
}

std::chrono::nanoseconds from_ticks(std::uint64_t ticks) {
  static const long per_second = ::sysconf(_SC_CLK_TCK);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(ticks) * (1'000'000'000 / per_second));
}

}  // namespace

ProcReading LinuxProcStats::read(pid_t pid) const {
  const LinuxFiles files;
  const auto folder = proc_ + "/" + std::to_string(pid);
  ProcReading reading;
  if (const auto text = files.read(folder + "/stat", kLimit)) {
    if (const auto fields = parse_stat(*text)) {
      reading.major_faults = fields->major_faults;
      reading.processor_time = from_ticks(fields->user_ticks + fields->system_ticks);
    }
  }
  if (const auto text = files.read(folder + "/status", kLimit)) {
    reading.resident = value_of(*text, "VmRSS");
    reading.resident_file = value_of(*text, "RssFile");
  }
  if (const auto text = files.read(folder + "/io", kLimit)) {
    reading.read_from_storage = value_of(*text, "read_bytes");
    reading.read_by_calls = value_of(*text, "rchar");
  }
  if (const auto text = files.read(folder + "/schedstat", kLimit)) reading.main_thread = parse_schedstat(*text);
  return reading;
}

StorageCounters LinuxProcStats::storage(pid_t pid) const {
  const LinuxFiles files;
  const auto folder = proc_ + "/" + std::to_string(pid);
  StorageCounters counters;
  if (const auto text = files.read(folder + "/stat", kLimit)) {
    if (const auto fields = parse_stat(*text)) counters.major_faults = fields->major_faults;
  }
  if (const auto text = files.read(folder + "/io", kLimit)) counters.read_from_storage = value_of(*text, "read_bytes");
  return counters;
}

std::optional<MemoryRollup> LinuxProcStats::memory(pid_t pid) const {
  const auto text = LinuxFiles().read(proc_ + "/" + std::to_string(pid) + "/smaps_rollup", kLimit);
  if (!text) return std::nullopt;
  const auto resident = value_of(*text, "Rss");
  const auto proportional = value_of(*text, "Pss");
  const auto locked = value_of(*text, "Locked");
  if (!resident || !proportional || !locked) return std::nullopt;
  return MemoryRollup{*resident, *proportional, *locked};
}

}  // namespace hearth::sys
