#pragma once
// The machine's memory, pressure and clocks as the kernel tells them now. Empty where it does not say. Never blocks on
// a disk.
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "sys/group_memory.h"

namespace hearth::sys {

struct MemoryReading {
  std::optional<base::Bytes> total;       // the machine's, or what the control group leaves of it
  std::optional<base::Bytes> available;   // MemAvailable: what new work may take without swapping; so far as the group
  std::optional<base::Bytes> page_cache;  // Cached
  std::optional<base::Bytes> swap_total;
  std::optional<base::Bytes> swap_free;
  std::optional<base::Bytes> group_limit = std::nullopt;  // set where a control group leaves less than the machine has
};

struct PressureReading {
  // Percent of the last 10 s in which somebody waited for memory, on the machine or in this control group.
  std::optional<double> memory_some_avg10;
  std::optional<double> io_some_avg10;
};

struct LockLimit {
  std::optional<base::Bytes> soft;  // RLIMIT_MEMLOCK; empty: no limit
};

class Memory {
 public:
  virtual ~Memory() = default;
  [[nodiscard]] virtual MemoryReading memory() const = 0;
  [[nodiscard]] virtual PressureReading pressure() const = 0;
  [[nodiscard]] virtual std::optional<double> load_average() const = 0;     // one minute
  [[nodiscard]] virtual std::optional<base::Bytes> swapped_in() const = 0;  // since boot
  // Pages that were evicted and needed again, since boot.
  [[nodiscard]] virtual std::optional<std::uint64_t> refaults() const = 0;
  // Pages that the kernel looked at to take memory back because the machine lacked it, since boot. What a control
  // group's own limit, or a program, made it take back does not count; so it is empty in a group that leaves less than
  // the machine has.
  [[nodiscard]] virtual std::optional<std::uint64_t> reclaim_scans() const = 0;
  // The fastest processor's clock now.
  [[nodiscard]] virtual std::optional<double> processor_mhz() const = 0;
  // Of this process; empty when the kernel does not say.
  [[nodiscard]] virtual std::optional<LockLimit> lock_limit() const = 0;
};

class LinuxMemory final : public Memory {
 public:
  // The groups are those that this process is in now.
  explicit LinuxMemory(std::string proc = "/proc", std::string sys = "/sys");
  [[nodiscard]] MemoryReading memory() const override;
  [[nodiscard]] PressureReading pressure() const override;
  [[nodiscard]] std::optional<double> load_average() const override;
  [[nodiscard]] std::optional<base::Bytes> swapped_in() const override;
  [[nodiscard]] std::optional<std::uint64_t> refaults() const override;
  [[nodiscard]] std::optional<std::uint64_t> reclaim_scans() const override;
  [[nodiscard]] std::optional<double> processor_mhz() const override;
  [[nodiscard]] std::optional<LockLimit> lock_limit() const override;

 private:
  std::string proc_;
  std::string sys_;
  std::vector<GroupFolder> groups_;
};

}  // namespace hearth::sys
