#include "timeline/history.h"

#include <gmock/gmock.h>

#include "tests/support/manual_clock.h"

namespace hearth::timeline {
namespace {

class HistoryTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::unique_ptr<HistoryDb> open() const { return HistoryDb::open(folder, {}, clock.wall()).value().db; }
  History::Open opener() const {
    return [this] { return open(); };
  }
  std::size_t requests() const {
    std::size_t count = 0;
    EXPECT_TRUE(open()->each_request(clock.wall(), [&](const RequestRow&) { ++count; }));
    return count;
  }
  std::size_t events() const {
    std::size_t count = 0;
    EXPECT_TRUE(open()->each_event(clock.wall(), [&](const domain::Event&) { ++count; }));
    return count;
  }
  domain::RequestObservation observation() const {
    domain::RequestObservation observation;
    observation.started_at = clock.wall();
    return observation;
  }
  void run_until(const bool& done) {
    io.restart();  // it may have had nothing to do
    while (!done)
      io.run_one();
  }
  void run(rt::Task<void> task) {
    bool done = false;
    rt::asio::co_spawn(io, std::move(task), [&done](const std::exception_ptr&) { done = true; });
    run_until(done);
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
  History history(io.get_executor(), clock, [](const std::exception_ptr&) {});
  bool opened = false;
  history.start(opener(), [&] { opened = true; });
  run_until(opened);
  history.add(record("r1"), observation());
  domain::Event without_model;
  without_model.what = "pressure";
  history.add(without_model);
  run(history.stop());
  EXPECT_EQ(requests(), 1U);
  EXPECT_EQ(open()->records().value().size(), 1U);
  EXPECT_EQ(events(), 0U);
}

TEST_F(HistoryTest, WhatComesBeforeItIsOpenIsKept) {
  History history(io.get_executor(), clock, [](const std::exception_ptr&) {});
  bool opened = false;
  history.start(opener(), [&] { opened = true; });
  history.add(record("r1"), observation());
  EXPECT_FALSE(opened);
  run(history.stop());
  EXPECT_TRUE(opened) << "an opening that has begun is waited for";
  EXPECT_EQ(requests(), 1U);
}

TEST_F(HistoryTest, WithoutADatabaseNothingIsHeld) {
  History history(io.get_executor(), clock, [](const std::exception_ptr&) {});
  bool opened = false;
  history.start([] { return nullptr; }, [&] { opened = true; });
  run_until(opened);
  for (std::size_t count = 0; count < History::kMostWaiting + 5; ++count)
    history.add(record("r1"), observation());
  EXPECT_EQ(history.dropped(), 0U);
  run(history.stop());
}

TEST_F(HistoryTest, WhatComesFasterThanItIsWrittenIsBounded) {
  History history(io.get_executor(), clock, [](const std::exception_ptr&) {});
  bool opened = false;
  history.start(opener(), [&] { opened = true; });
  domain::Event event;
  event.what = "evicted";
  event.model = "a";
  event.at = clock.wall();
  for (std::size_t count = 0; count < History::kMostWaiting + 5; ++count)
    history.add(event);
  EXPECT_EQ(history.dropped(), 5U);
  run(history.stop());
  EXPECT_EQ(events(), History::kMostWaiting);
}

}  // namespace
}  // namespace hearth::timeline
