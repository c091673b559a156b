#include "timeline/history.h"

#include <spdlog/spdlog.h>

#include "rt/deadline.h"

namespace hearth::timeline {

namespace {
constexpr std::chrono::seconds kGather{1};
}

History::History(const rt::asio::any_io_executor& executor, const base::Clock& clock,
                 rt::TaskGroup::CrashHandler on_crash)
    : clock_(clock), changed_(executor), tasks_(executor, std::move(on_crash)) {}

void History::start(Open open, std::function<void()> opened) { tasks_.spawn(run(std::move(open), std::move(opened))); }

void History::add(const domain::RequestRecord& record, const domain::RequestObservation& observation) {
  if (auto row = row_of(record, observation)) push({.request = std::move(row), .record = record, .event = {}});
}

void History::add(const domain::Event& event) {
  if (event.model) push({.request = {}, .record = {}, .event = event});
}

void History::push(HistoryEntry entry) {
  if (closed_) return;
  if (waiting_.size() >= kMostWaiting) {
    if (dropped_++ == 0) spdlog::warn("the history cannot be written as fast as it comes; some of it is left out");
    return;
  }
  waiting_.push_back(std::move(entry));
  if (waiting_.size() == 1) changed_.notify_all();
}

rt::Task<void> History::flush() {
  if (waiting_.empty()) co_return;
  std::vector<HistoryEntry> entries = std::exchange(waiting_, {});
  const base::Wall now = clock_.wall();
  const base::Status written = co_await pool_.run([&] { return db_->write(entries, now); });
  if (!written && !std::exchange(failed_, true))
    spdlog::warn("the history is not written: {}", written.error().message);
  if (written) failed_ = false;
}

rt::Task<void> History::run(Open open, std::function<void()> opened) {
  db_ = co_await pool_.run(open);
  closed_ = db_ == nullptr;
  opened();
  if (closed_) waiting_.clear();
  while (!closed_) {
    if (waiting_.empty()) (void)co_await changed_.wait_until(base::Mono::max());
    const bool gathered = co_await rt::pause(kGather);
    if (!gathered) co_return;
    co_await flush();
  }
}

rt::Task<void> History::stop() {
  tasks_.cancel_all();
  const bool ended = co_await tasks_.join(std::chrono::seconds(10));
  if (!ended) spdlog::warn("writing the history did not end in time");
  if (ended && db_) co_await flush();
}

}  // namespace hearth::timeline
