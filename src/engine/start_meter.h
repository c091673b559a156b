#pragma once
// What an engine's start costs and whether it gets on, from samples of what the kernel counts for the process. Pure.
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "sys/proc_stats.h"

namespace hearth::engine {

class StartMeter {
 public:
  // `spawned`: just before the process was made; its counters are 0 then.
  explicit StartMeter(base::Mono spawned) : last_at_(spawned), progress_at_(spawned) {}

  // `output_bytes`: all that it has said so far. Samples come every 50 ms or so.
  void feed(base::Mono now, const sys::ProcReading& reading, std::uint64_t output_bytes);

  // How long nothing has moved: no bytes from storage, no major fault, nothing said, and less processor time than
  // answering our own health questions explains (5 % of the time, and at least 20 ms).
  [[nodiscard]] base::Duration without_progress(base::Mono now) const { return now - progress_at_; }

  // The time that the main thread, which loads, neither ran nor waited for a processor, summed over those spans between
  // two samples in which the process read from storage. Wrong by at most one span at each end of a read.
  // Empty where the kernel counts one of the two not.
  [[nodiscard]] std::optional<base::Duration> blocked_on_storage() const { return blocked_; }
  [[nodiscard]] std::optional<base::Bytes> bytes_read() const { return last_.read_from_storage; }
  [[nodiscard]] std::optional<std::uint64_t> major_faults() const { return last_.major_faults; }

 private:
  void count_blocked(base::Mono now, const sys::ProcReading& reading);
  [[nodiscard]] bool has_moved(base::Mono now, const sys::ProcReading& reading, std::uint64_t output_bytes) const;

  base::Mono last_at_;
  sys::ProcReading last_;
  std::optional<base::Duration> blocked_;

  base::Mono progress_at_;
  sys::ProcReading at_progress_;
  std::uint64_t output_at_progress_ = 0;
};

}  // namespace hearth::engine
