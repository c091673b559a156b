#include "timeline/history.h"

#include <gmock/gmock.h>

#include "tests/support/manual_clock.h"

namespace hearth::timeline {
namespace {

class HistoryTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::unique_ptr<HistoryDb> open() { return HistoryDb::open(folder, {}, clock.wall()).value().db; }
  void run(rt::Task<void> task) {
    bool done = false;
    rt::asio::co_spawn(io, std::move(task), [&done](const std::exception_ptr&) { done = true; });
    while (!done)
      io.run_one();
    io.restart();
  }
  static domain::RequestRecord record(std::string id) {
    domain::RequestRecord record;
    record.id = std::move(id);
    record.model = "a";
    record.started_at = "2026-01-31T08:15:30.123Z";
    return record;
  }

  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("hearth-history-writer-" + std::to_string(::getpid()));
  rt::asio::io_context io;
  test::ManualClock clock;
};

TEST_F(HistoryTest, WhatIsLeftIsWrittenAtTheEnd) {
  History history(io.get_executor(), open(), clock, [](const std::exception_ptr&) {});
  history.start();
  domain::RequestObservation observation;
  observation.started_at = clock.wall();
  history.add(record("r1"), observation);
  domain::Event without_model;
  without_model.what = "pressure";
  history.add(without_model);
  run(history.stop());
  EXPECT_EQ(open()->requests(clock.wall()).value().size(), 1U);
  EXPECT_EQ(open()->records().value().size(), 1U);
  EXPECT_TRUE(open()->events(clock.wall()).value().empty());
}

TEST_F(HistoryTest, WhatComesFasterThanItIsWrittenIsBounded) {
  History history(io.get_executor(), open(), clock, [](const std::exception_ptr&) {});
  domain::Event event;
  event.what = "evicted";
  event.model = "a";
  event.at = clock.wall();
  for (std::size_t count = 0; count < History::kMostWaiting + 5; ++count)
    history.add(event);
  EXPECT_EQ(history.dropped(), 5U);
  run(history.stop());
  EXPECT_EQ(open()->events(clock.wall()).value().size(), History::kMostWaiting);
}

}  // namespace
}  // namespace hearth::timeline
