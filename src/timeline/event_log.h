#pragma once
// The last events, with ascending ids from 1 without gaps. Thread: the I/O thread only.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "domain/event.h"

namespace hearth::timeline {

class EventLog {
 public:
  // Keeps at least the last `capacity` events and at most twice as many; an event takes about 0.3 kB. REQUIRES:
  // capacity > 0.
  explicit EventLog(std::size_t capacity = 2000) : capacity_(capacity) {}

  // Gives the event its id and returns it.
  std::uint64_t add(domain::Event event);
  // The events after the one of that id, oldest first; 0 gives all that are kept. Valid until the next add().
  [[nodiscard]] std::span<const domain::Event> since(std::uint64_t id) const;
  // All that are kept. Complete since the start when the first one's id is 1.
  [[nodiscard]] std::span<const domain::Event> all() const { return events_; }
  // The id of the newest event, 0 when there was none.
  [[nodiscard]] std::uint64_t newest() const { return next_id_ - 1; }

 private:
  std::size_t capacity_;
  std::uint64_t next_id_ = 1;
  std::vector<domain::Event> events_;
};

}  // namespace hearth::timeline
