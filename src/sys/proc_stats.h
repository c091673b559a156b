#pragma once
// What the kernel counts for one process. Everything is optional: empty where the kernel does not say (the process is
// gone, the file is not readable, the accounting is not built in).
//
// Costs some ten microseconds a reading, and never blocks on a disk; may be called on the I/O thread. `memory` walks
// the process's page tables in the kernel (about 1 ms per GB): not more often than needed.
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace hearth::sys {

// /proc/PID/schedstat: of the main thread alone, since it began.
struct ThreadTimes {
  std::chrono::nanoseconds running{};
  std::chrono::nanoseconds waiting{};  // for a processor, though it could run
};

struct ProcReading {
  std::optional<base::Bytes> resident;            // VmRSS: anonymous, file and shared pages
  std::optional<base::Bytes> resident_file = {};  // RssFile: of them those that a file backs
  std::optional<base::Bytes> read_from_storage;   // io read_bytes: what this process made the disks read
  std::optional<base::Bytes> read_by_calls;       // io rchar: through read calls, from disk or page cache alike
  std::optional<std::uint64_t> major_faults;
  std::optional<std::chrono::nanoseconds>
      processor_time;  // all threads, user and system; steps of a clock tick (10 ms)
  std::optional<ThreadTimes> main_thread;
};

// What a process made the disks read, alone: cheaper than a whole ProcReading.
struct StorageCounters {
  std::optional<base::Bytes> read_from_storage;
  std::optional<std::uint64_t> major_faults;
};

// smaps_rollup.
struct MemoryRollup {
  base::Bytes resident = 0;
  base::Bytes proportional = 0;  // Pss: shared pages divided among those that map them
  base::Bytes locked = 0;
};

class ProcStats {
 public:
  virtual ~ProcStats() = default;
  [[nodiscard]] virtual ProcReading read(pid_t pid) const = 0;
  [[nodiscard]] virtual StorageCounters storage(pid_t pid) const = 0;
  [[nodiscard]] virtual std::optional<MemoryRollup> memory(pid_t pid) const = 0;
};

class LinuxProcStats final : public ProcStats {
 public:
  // `proc`: where /proc is.
  explicit LinuxProcStats(std::string proc = "/proc") : proc_(std::move(proc)) {}
  [[nodiscard]] ProcReading read(pid_t pid) const override;
  [[nodiscard]] StorageCounters storage(pid_t pid) const override;
  [[nodiscard]] std::optional<MemoryRollup> memory(pid_t pid) const override;

 private:
  std::string proc_;
};

}  // namespace hearth::sys
