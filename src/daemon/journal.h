#pragma once
// The memory of the server: requests as they were observed and told, and the events that explain them; those of earlier
// runs too, where a history is kept.
//
// Thread: the I/O thread, except post_event, which any thread may call.
#include <string>

#include "base/clock.h"
#include "http/ports.h"
#include "timeline/event_log.h"
#include "timeline/history.h"
#include "timeline/request_id.h"
#include "timeline/request_log.h"

namespace hearth::daemon {

class Journal final : public http::RequestJournal {
 public:
  Journal(rt::asio::any_io_executor executor, const base::Clock& clock)
      : executor_(std::move(executor)), clock_(clock), ids_(clock) {}

  [[nodiscard]] std::string new_id() override { return ids_.next(); }
  [[nodiscard]] std::string header_timing(const domain::RequestObservation& so_far) override;
  void record(domain::RequestObservation observation) override;
  [[nodiscard]] std::optional<domain::RequestRecord> find(std::string_view id) override { return requests_.find(id); }
  [[nodiscard]] std::vector<domain::RequestRecord> last(std::size_t count) override { return requests_.last(count); }
  [[nodiscard]] std::vector<domain::Event> events_since(std::uint64_t id) override;

  void tell(domain::Event event) override;
  // Takes an event from another thread over to the I/O thread. The journal must outlive the loop's last turn.
  void post_event(domain::Event event);
  void add_event(domain::Event event);
  // From now on what is added is remembered there too; `history` outlives the loop's last turn.
  void remember_in(timeline::History& history) { history_ = &history; }
  // The requests of an earlier run, oldest first.
  void add_before(std::vector<domain::RequestRecord> records) { requests_.add_before(std::move(records)); }

 private:
  rt::asio::any_io_executor executor_;
  const base::Clock& clock_;
  timeline::RequestIds ids_;
  timeline::RequestLog requests_;
  timeline::EventLog events_;
  timeline::History* history_ = nullptr;
};

}  // namespace hearth::daemon
