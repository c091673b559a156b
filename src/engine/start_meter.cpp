#include "engine/start_meter.h"

#include <algorithm>

namespace hearth::engine {

using namespace std::chrono_literals;

void StartMeter::feed(base::Mono now, const sys::ProcReading& reading, std::uint64_t output_bytes) {
  count_blocked(now, reading);
  if (has_moved(now, reading, output_bytes)) {
    progress_at_ = now;
    at_progress_ = reading;
    output_at_progress_ = output_bytes;
  }
  last_at_ = now;
  // A process that has just ended says nothing any more; what it said last stands.
  if (reading.read_from_storage) last_.read_from_storage = reading.read_from_storage;
  if (reading.major_faults) last_.major_faults = reading.major_faults;
  if (reading.main_thread) last_.main_thread = reading.main_thread;
}

void StartMeter::count_blocked(base::Mono now, const sys::ProcReading& reading) {
  if (!reading.main_thread || !reading.read_from_storage) return;
  if (!blocked_) blocked_ = base::Duration::zero();
  if (*reading.read_from_storage <= last_.read_from_storage.value_or(0)) return;
  const auto before = last_.main_thread.value_or(sys::ThreadTimes{});
  const auto awake = (reading.main_thread->running - before.running) + (reading.main_thread->waiting - before.waiting);
  *blocked_ += std::max(base::Duration::zero(), (now - last_at_) - awake);
}

bool StartMeter::has_moved(base::Mono now, const sys::ProcReading& reading, std::uint64_t output_bytes) const {
  const auto worked = reading.processor_time.value_or(0ns) - at_progress_.processor_time.value_or(0ns);
  const auto questions = std::max<base::Duration>(20ms, (now - progress_at_) / 20);
  return output_bytes != output_at_progress_ || worked > questions ||
         reading.read_from_storage.value_or(0) > at_progress_.read_from_storage.value_or(0) ||
         reading.major_faults.value_or(0) > at_progress_.major_faults.value_or(0);
}

}  // namespace hearth::engine
