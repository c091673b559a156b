#pragma once
// Takes what is to be remembered and has it written by a thread of its own, about once a second. That thread opens the
// database too: it may take a while to be checked and read. Nobody waits for any of it: adding is a push into memory.
//
// Thread: the I/O thread. What cannot be written is told once in the log and dropped; a database that refuses again and
// again costs nothing but the memory of it. stop() before it goes.
#include <functional>
#include <memory>
#include <vector>

#include "rt/blocking_pool.h"
#include "rt/notice.h"
#include "rt/task_group.h"
#include "timeline/history_db.h"

namespace hearth::timeline {

class History {
 public:
  static constexpr std::size_t kMostWaiting = 10'000;  // entries

  History(const rt::asio::any_io_executor& executor, const base::Clock& clock, rt::TaskGroup::CrashHandler on_crash);

  void add(const domain::RequestRecord& record, const domain::RequestObservation& observation);
  void add(const domain::Event& event);  // one without a model is not kept

  // Opens, on the history's own thread; null: from then on nothing is kept.
  using Open = std::function<std::unique_ptr<HistoryDb>()>;
  // Opens, says so, and writes until stop() what was added since this was made.
  void start(Open open, std::function<void()> opened);
  // Writes what is left.
  [[nodiscard]] rt::Task<void> stop();
  // Writes what is waiting now. REQUIRES: it was opened.
  [[nodiscard]] rt::Task<void> flush();
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  [[nodiscard]] rt::Task<void> run(Open open, std::function<void()> opened);
  void push(HistoryEntry entry);

  std::unique_ptr<HistoryDb> db_;  // null: not opened yet, or nothing is kept
  bool closed_ = false;            // nothing is kept
  const base::Clock& clock_;
  std::vector<HistoryEntry> waiting_;
  std::uint64_t dropped_ = 0;
  bool failed_ = false;  // told already
  rt::Notice changed_;
  rt::BlockingPool pool_{1};
  rt::TaskGroup tasks_;
};

}  // namespace hearth::timeline
