#include "timeline/event_log.h"

namespace hearth::timeline {

std::uint64_t EventLog::add(domain::Event event) {
  // Half of the events go at once, so that what is kept stays one span and adding stays cheap.
  if (events_.size() >= 2 * capacity_) {
    events_.erase(events_.begin(), events_.end() - static_cast<std::ptrdiff_t>(capacity_ - 1));
  }
  event.id = next_id_++;
  events_.push_back(std::move(event));
  return events_.back().id;
}

std::span<const domain::Event> EventLog::since(std::uint64_t id) const {
  const std::uint64_t wanted = id < newest() ? newest() - id : 0;
  return wanted < events_.size() ? all().last(static_cast<std::size_t>(wanted)) : all();
}

}  // namespace hearth::timeline
