// The history's file: what is written is read again, what is damaged or newer harms nothing, what is old goes.
#include "timeline/history_db.h"

#include <gmock/gmock.h>

#include <fstream>

namespace hearth::timeline {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using testing::ElementsAre;
using testing::SizeIs;

class HistoryDbTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  HistoryDb::Opened open(const HistoryLimits& limits = {}) {
    auto opened = HistoryDb::open(folder, limits, now);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : HistoryDb::Opened{};
  }
  static HistoryEntry request(std::string model, base::Wall at, int number = 1) {
    HistoryEntry entry;
    domain::RequestRecord record;
    record.id = "r" + std::to_string(number);
    record.model = model;
    record.started_at = base::rfc3339(at);
    entry.record = record;
    entry.request = RequestRow{.at = at,
                               .id = record.id,
                               .model = std::move(model),
                               .service_class = domain::ServiceClass::voice,
                               .status = 200,
                               .ttft_ms = 12.5,
                               .total_ms = 80,
                               .cold_ms = 3.5,
                               .start_ms = std::nullopt,
                               .cause = domain::Layer::weights};
    return entry;
  }
  static HistoryEntry event(std::string model, base::Wall at) {
    domain::Event event;
    event.at = at;
    event.what = "evicted";
    event.model = std::move(model);
    event.layer = domain::Layer::process;
    event.bytes = 7;
    event.by = "request for b";
    HistoryEntry entry;
    entry.event = std::move(event);
    return entry;
  }

  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("hearth-history-" + std::to_string(::getpid()));
  std::vector<RequestRow> requests_in(HistoryDb& db) const {
    std::vector<RequestRow> rows;
    EXPECT_TRUE(db.each_request(now, [&](const RequestRow& row) { rows.push_back(row); }));
    return rows;
  }
  std::vector<domain::Event> events_in(HistoryDb& db) const {
    std::vector<domain::Event> events;
    EXPECT_TRUE(db.each_event(now, [&](const domain::Event& event) { events.push_back(event); }));
    return events;
  }

  const std::filesystem::path file = folder / "history.sqlite";
  const base::Wall now{std::chrono::seconds(1'700'000'000)};
};

TEST_F(HistoryDbTest, WhatIsWrittenIsReadAgainInItsOrder) {
  const auto late = request("late", now - 1s, 2);
  const auto early = request("early", now - 1h);
  ASSERT_TRUE(open().db->write({late, early, event("a", now - 1min)}, now));
  const auto again = open();
  EXPECT_FALSE(again.set_aside);
  EXPECT_THAT(requests_in(*again.db), ElementsAre(*early.request, *late.request));
  const auto records = again.db->records().value();
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records.back().model, "early") << "in the order in which they were told";
  const auto events = events_in(*again.db);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].what, "evicted");
  EXPECT_EQ(events[0].layer, domain::Layer::process);
  EXPECT_EQ(events[0].bytes, 7U);
  EXPECT_EQ(events[0].why, std::nullopt);
}

TEST_F(HistoryDbTest, WhatMakesNoSenseIsLeftOut) {
  ASSERT_TRUE(open().db->write({request("../../etc", now - 1s), request("a", now + 1h), request("b", now)}, now));
  const auto rows = requests_in(*open().db);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].model, "b");
}

TEST_F(HistoryDbTest, WhatIsOldOrTooMuchGoes) {
  const HistoryLimits limits{.age = 24h, .requests = 3, .events = 1, .records = 2};
  const auto opened = open(limits);
  std::vector<HistoryEntry> entries = {request("old", now - 25h)};
  for (int number = 0; number < 5; ++number) {
    entries.push_back(request("a", now - 1h, number));
    entries.push_back(event("a", now - 1h));
  }
  ASSERT_TRUE(opened.db->write(entries, now));
  const auto again = open(limits);
  EXPECT_THAT(requests_in(*again.db), SizeIs(3));
  EXPECT_THAT(events_in(*again.db), SizeIs(1));
  const auto records = again.db->records().value();
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records.back().id, "r4");
}

TEST_F(HistoryDbTest, ItIsCutWhileItGrows) {
  const auto opened = open({.age = 24h, .requests = 10, .events = 10, .records = 10});
  HistoryEntry entry = request("a", now);
  entry.record.reset();
  std::vector<HistoryEntry> entries(HistoryDb::kRowsBetweenCuts, entry);
  ASSERT_TRUE(opened.db->write(entries, now));
  EXPECT_THAT(requests_in(*opened.db), SizeIs(10));
}

TEST_F(HistoryDbTest, ADamagedOneIsSetAsideAndMadeAgain) {
  ASSERT_TRUE(open().db->write({request("a", now)}, now));
  for (const auto* garbage : {"first", "second"}) {
    std::ofstream(file) << std::string(10'000, *garbage);
    const auto opened = open();
    ASSERT_TRUE(opened.set_aside);
    EXPECT_THAT(requests_in(*opened.db), SizeIs(0));
    EXPECT_TRUE(opened.db->write({request("a", now)}, now));
  }
  std::size_t kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    kept += entry.path().filename().string().starts_with("damaged-") ? 1 : 0;
  EXPECT_EQ(kept, 1U);
}

TEST_F(HistoryDbTest, APageThatIsDamagedInTheMiddleIsFound) {
  {
    const auto opened = open();
    HistoryEntry entry = request("a", now);
    entry.record.reset();
    std::vector<HistoryEntry> entries(500, entry);
    ASSERT_TRUE(opened.db->write(entries, now));
  }
  std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
  damaged.seekp(4096);
  damaged << std::string(8192, '\x5a');
  damaged.close();
  EXPECT_TRUE(open().set_aside);
}

TEST_F(HistoryDbTest, OneThatANewerHearthWroteIsLeftAlone) {
  open();
  {
    auto raw = base::Database::open(file.string(), {.name = "it", .version = 9, .schema = ""});
    ASSERT_TRUE(raw);
  }
  const auto refused = HistoryDb::open(folder, {}, now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
}

TEST_F(HistoryDbTest, TwoWritersBothFindTheirRows) {
  const auto one = open();
  const auto other = open();
  ASSERT_TRUE(one.db->write({request("a", now)}, now));
  ASSERT_TRUE(other.db->write({request("b", now)}, now));
  EXPECT_THAT(requests_in(*one.db), SizeIs(2));
}

TEST(HistoryRow, TellsWhatWasColdAndHowLongTheStartTook) {
  domain::RequestRecord record;
  record.id = "r";
  EXPECT_FALSE(row_of(record, {})) << "it named no model";
  record.model = "a";
  record.ttft_ms = 900;
  for (const auto& [stage, ms] :
       {std::pair(domain::Stage::queue, 100.0), std::pair(domain::Stage::process_start, 200.0),
        std::pair(domain::Stage::storage_read, 300.0), std::pair(domain::Stage::prefill, 300.0)}) {
    domain::StageSpan span;
    span.stage = stage;
    span.critical_ms = ms;
    record.stages.push_back(span);
  }
  domain::RequestObservation observation;
  observation.start = domain::StartObservation{};
  observation.start->ready = observation.start->spawned + 700ms;
  const auto row = row_of(record, observation);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->cold_ms, 500);
  EXPECT_EQ(row->start_ms, 700);
}

}  // namespace
}  // namespace hearth::timeline
