#pragma once
// The machine in memory: page cache, memory figures and per-process counters that a test sets. No product code includes
// it.
#include <algorithm>
#include <map>

#include "sys/memory.h"
#include "sys/pages.h"
#include "sys/proc_stats.h"
#include "sys/time_zone.h"

namespace hearth::sys {

// Files are known by path and length; residency is kept as bytes from the beginning of the file.
class FakePages final : public Pages {
 public:
  void add(const std::string& path, base::Bytes size, base::Bytes resident = 0) { files_[path] = {size, resident}; }

  [[nodiscard]] base::Result<Residency> residency(const std::string& path,
                                                  std::optional<ByteRange> range) const override {
    const auto found = files_.find(path);
    if (found == files_.end()) return base::fail_errno("opening " + path, ENOENT);
    const auto cut = cut_to(found->second.size, range);
    const auto warm_end = std::min(found->second.resident, cut.offset + cut.length);
    return Residency{warm_end > cut.offset ? warm_end - cut.offset : 0, cut.length, PageMechanism::cachestat};
  }
  [[nodiscard]] base::Status drop(const std::string& path, std::optional<ByteRange> range) override {
    const auto found = files_.find(path);
    if (found == files_.end()) return base::fail_errno("opening " + path, ENOENT);
    found->second.resident = std::min(found->second.resident, cut_to(found->second.size, range).offset);
    return {};
  }
  [[nodiscard]] base::Status read_ahead(const std::string& path, std::optional<ByteRange> range) override {
    const auto found = files_.find(path);
    if (found == files_.end()) return base::fail_errno("opening " + path, ENOENT);
    const auto cut = cut_to(found->second.size, range);
    found->second.resident = std::max(found->second.resident, cut.offset + cut.length);
    return {};
  }

 private:
  struct File {
    base::Bytes size = 0;
    base::Bytes resident = 0;
  };
  static ByteRange cut_to(base::Bytes size, std::optional<ByteRange> range) {
    ByteRange cut = range.value_or(ByteRange{0, size});
    cut.offset = std::min(cut.offset, size);
    cut.length = std::min(cut.length, size - cut.offset);
    return cut;
  }
  std::map<std::string, File> files_;
};

class FakeMemory final : public Memory {
 public:
  MemoryReading now{16'000'000'000, 8'000'000'000, 4'000'000'000, 0, 0};
  PressureReading pressed{0.0, 0.0};
  std::optional<double> load = 0.5;
  std::optional<base::Bytes> swapped = 0;
  std::optional<std::uint64_t> refaulted = 0;
  std::optional<std::uint64_t> scanned = std::nullopt;
  std::optional<double> mhz = 3000;
  std::optional<LockLimit> locks = LockLimit{};

  [[nodiscard]] MemoryReading memory() const override { return now; }
  [[nodiscard]] PressureReading pressure() const override { return pressed; }
  [[nodiscard]] std::optional<double> load_average() const override { return load; }
  [[nodiscard]] std::optional<base::Bytes> swapped_in() const override { return swapped; }
  [[nodiscard]] std::optional<std::uint64_t> refaults() const override { return refaulted; }
  [[nodiscard]] std::optional<std::uint64_t> reclaim_scans() const override { return scanned; }
  [[nodiscard]] std::optional<double> processor_mhz() const override { return mhz; }
  [[nodiscard]] std::optional<LockLimit> lock_limit() const override { return locks; }
};

// One change of the clocks.
class FakeTimeZone final : public TimeZone {
 public:
  std::chrono::seconds before{0};
  base::Wall changes_at = base::Wall::max();
  std::chrono::seconds after{0};

  [[nodiscard]] std::chrono::seconds offset_at(base::Wall at) const override {
    return at < changes_at ? before : after;
  }
};

class FakeProcStats final : public ProcStats {
 public:
  void set(pid_t pid, ProcReading reading, std::optional<MemoryRollup> rollup = {}) { known_[pid] = {reading, rollup}; }
  [[nodiscard]] ProcReading read(pid_t pid) const override {
    const auto found = known_.find(pid);
    return found == known_.end() ? ProcReading{} : found->second.first;
  }
  [[nodiscard]] StorageCounters storage(pid_t pid) const override {
    const ProcReading reading = read(pid);
    return {.read_from_storage = reading.read_from_storage, .major_faults = reading.major_faults};
  }
  [[nodiscard]] std::optional<MemoryRollup> memory(pid_t pid) const override {
    const auto found = known_.find(pid);
    return found == known_.end() ? std::nullopt : found->second.second;
  }

 private:
  std::map<pid_t, std::pair<ProcReading, std::optional<MemoryRollup>>> known_;
};

}  // namespace hearth::sys
