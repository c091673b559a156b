#pragma once
// Takes what is to be remembered and has it written by a thread of its own, about once a second. Nobody waits for it:
// adding is a push into memory.
//
// Thread: the I/O thread. What cannot be written is told once in the log and dropped; a database that refuses again and
// again costs nothing but the memory of it. stop() before it goes.
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

  History(const rt::asio::any_io_executor& executor, std::unique_ptr<HistoryDb> db, const base::Clock& clock,
          rt::TaskGroup::CrashHandler on_crash);

  void add(const domain::RequestRecord& record, const domain::RequestObservation& observation);
  void add(const domain::Event& event);  // one without a model is not kept

  // Begins to write; until stop().
  void start() { tasks_.spawn(run()); }
  // Writes what is left.
  [[nodiscard]] rt::Task<void> stop();
  // Writes what is waiting now.
  [[nodiscard]] rt::Task<void> flush();
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  [[nodiscard]] rt::Task<void> run();
  void push(HistoryEntry entry);

  std::unique_ptr<HistoryDb> db_;
  const base::Clock& clock_;
  std::vector<HistoryEntry> waiting_;
  std::uint64_t dropped_ = 0;
  bool failed_ = false;  // told already
  rt::Notice changed_;
  rt::BlockingPool pool_{1};
  rt::TaskGroup tasks_;
};

}  // namespace hearth::timeline
