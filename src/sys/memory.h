#pragma once
// The machine's memory, pressure and clocks as the kernel tells them now. Empty where it does not say. Never blocks on
// a disk.
#include <optional>
#include <string>

#include "base/bytes.h"

namespace hearth::sys {

struct MemoryReading {
  std::optional<base::Bytes> total;
  std::optional<base::Bytes> available;   // MemAvailable: what new work may take without swapping
  std::optional<base::Bytes> page_cache;  // Cached
  std::optional<base::Bytes> swap_total;
  std::optional<base::Bytes> swap_free;
};

struct PressureReading {
  std::optional<double> memory_some_avg10;  // percent of the last 10 s in which somebody waited for memory
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
  // The fastest processor's clock now.
  [[nodiscard]] virtual std::optional<double> processor_mhz() const = 0;
  // Of this process; empty when the kernel does not say.
  [[nodiscard]] virtual std::optional<LockLimit> lock_limit() const = 0;
};

class LinuxMemory final : public Memory {
 public:
  explicit LinuxMemory(std::string proc = "/proc", std::string sys = "/sys")
      : proc_(std::move(proc)), sys_(std::move(sys)) {}
  [[nodiscard]] MemoryReading memory() const override;
  [[nodiscard]] PressureReading pressure() const override;
  [[nodiscard]] std::optional<double> load_average() const override;
  [[nodiscard]] std::optional<base::Bytes> swapped_in() const override;
  [[nodiscard]] std::optional<std::uint64_t> refaults() const override;
  [[nodiscard]] std::optional<double> processor_mhz() const override;
  [[nodiscard]] std::optional<LockLimit> lock_limit() const override;

 private:
  std::string proc_;
  std::string sys_;
};

}  // namespace hearth::sys
