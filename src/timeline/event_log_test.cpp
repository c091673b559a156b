#include "timeline/event_log.h"

#include <gtest/gtest.h>

namespace hearth::timeline {
namespace {

domain::Event named(std::string what) {
  return {.at = {}, .what = std::move(what), .model = {}, .layer = {}, .bytes = {}, .by = {}, .why = {}};
}

TEST(EventLog, GivesAscendingIdsFromOne) {
  EventLog log;
  EXPECT_EQ(log.newest(), 0U);
  EXPECT_TRUE(log.since(0).empty());
  EXPECT_EQ(log.add(named("a")), 1U);
  EXPECT_EQ(log.add(named("b")), 2U);
  EXPECT_EQ(log.newest(), 2U);
}

TEST(EventLog, SinceGivesWhatCameAfter) {
  EventLog log;
  for (const char* what : {"a", "b", "c"})
    log.add(named(what));
  ASSERT_EQ(log.since(1).size(), 2U);
  EXPECT_EQ(log.since(1).front().what, "b");
  EXPECT_EQ(log.since(0).size(), 3U);
  EXPECT_TRUE(log.since(3).empty());
  EXPECT_TRUE(log.since(~std::uint64_t{0}).empty());
}

TEST(EventLog, StaysBoundedAndKeepsTheNewest) {
  EventLog log(10);
  for (int i = 1; i <= 1000; ++i) {
    log.add(named(std::to_string(i)));
    ASSERT_LE(log.all().size(), 20U);
    ASSERT_GE(log.all().size(), static_cast<std::size_t>(std::min(i, 10)));
    ASSERT_EQ(log.all().back().what, std::to_string(i));
    ASSERT_EQ(log.all().front().id + log.all().size() - 1, log.newest());
  }
  EXPECT_EQ(log.since(0).size(), log.all().size());
  EXPECT_EQ(log.since(995).front().id, 996U);
}

}  // namespace
}  // namespace hearth::timeline
