#include "timeline/request_log.h"

#include <gtest/gtest.h>

namespace hearth::timeline {
namespace {

domain::RequestRecord record_of(std::string id, int status = 200) {
  domain::RequestRecord record;
  record.id = std::move(id);
  record.status = status;
  return record;
}

TEST(RequestLog, FindsByIdAndNothingElse) {
  RequestLog log;
  log.add(record_of("a"));
  log.add(record_of("b", 502));
  EXPECT_EQ(log.find("b")->status, 502);
  EXPECT_FALSE(log.find("c"));
  EXPECT_FALSE(log.find(""));
  EXPECT_FALSE(log.find("../b"));
}

TEST(RequestLog, LastIsNewestFirst) {
  RequestLog log;
  for (const char* id : {"a", "b", "c"})
    log.add(record_of(id));
  const auto two = log.last(2);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].id, "c");
  EXPECT_EQ(two[1].id, "b");
  EXPECT_EQ(log.last(~std::size_t{0}).size(), 3U);
  EXPECT_TRUE(log.last(0).empty());
}

TEST(RequestLog, WhatIsOlderGoesBeforeAsFarAsThereIsRoom) {
  RequestLog log(3);
  log.add(record_of("new"));
  log.add_before({record_of("oldest"), record_of("older"), record_of("old")});
  const auto all = log.last(10);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].id, "new");
  EXPECT_EQ(all[1].id, "old");
  EXPECT_EQ(all[2].id, "older");
}

TEST(RequestLog, TheOldestGoesFirst) {
  RequestLog log(3);
  for (int i = 0; i < 10; ++i)
    log.add(record_of(std::to_string(i)));
  EXPECT_EQ(log.size(), 3U);
  EXPECT_FALSE(log.find("6"));
  EXPECT_TRUE(log.find("7"));
  EXPECT_EQ(log.last(9).back().id, "7");
}

TEST(RequestLog, TheNewestOfEqualIdsIsFound) {
  RequestLog log;
  log.add(record_of("a", 200));
  log.add(record_of("a", 500));
  EXPECT_EQ(log.find("a")->status, 500);
}

}  // namespace
}  // namespace hearth::timeline
