#include "daemon/journal.h"

#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>

#include "policy/cause.h"
#include "timeline/assemble.h"
#include "timeline/server_timing.h"

namespace hearth::daemon {

std::string Journal::header_timing(const domain::RequestObservation& so_far) {
  return timeline::server_timing(so_far, clock_.now());
}

void Journal::record(domain::RequestObservation observation) {
  domain::RequestRecord record = timeline::assemble(observation);
  policy::add_cause(record, observation, events_.all());
  if (history_ != nullptr) history_->add(record, observation);
  requests_.add(std::move(record));
}

std::vector<domain::Event> Journal::events_since(std::uint64_t id) {
  const auto events = events_.since(id);
  return {events.begin(), events.end()};
}

void Journal::tell(domain::Event event) {
  event.at = clock_.wall();
  add_event(std::move(event));
}

void Journal::post_event(domain::Event event) {
  rt::asio::post(executor_, [this, event = std::move(event)]() mutable { add_event(std::move(event)); });
}

void Journal::add_event(domain::Event event) {
  spdlog::info("{}{}{}", event.what, event.model ? " " + *event.model : "", event.why ? ": " + *event.why : "");
  if (history_ != nullptr) history_->add(event);
  events_.add(std::move(event));
}

}  // namespace hearth::daemon
