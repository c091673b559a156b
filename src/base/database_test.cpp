#include "base/database.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace hearth::base {
namespace {

constexpr Database::Format kFormat{.name = "the test's notes",
                                   .version = 3,
                                   .schema = "CREATE TABLE IF NOT EXISTS note(number INTEGER, text TEXT, real REAL)"};

class DatabaseTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder), std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  static Status add(Database& database, std::int64_t number) {
    return Database::Query(database, "INSERT INTO note VALUES(?,?,?)")
        .number(number)
        .maybe_text(std::nullopt)
        .real(0.5)
        .run();
  }
  static std::int64_t count(Database& database) {
    Database::Query query(database, "SELECT count(*) FROM note");
    EXPECT_TRUE(query.step().value_or(false));
    return query.number_at(0);
  }

  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("hearth-database-" + std::to_string(::getpid()));
  const std::string path = (folder / "notes.sqlite").string();
};

TEST_F(DatabaseTest, WhatWasWrittenIsThereAtTheNextOpening) {
  ASSERT_TRUE(add(**Database::open(path, kFormat), 7));
  auto again = Database::open(path, kFormat);
  ASSERT_TRUE(again);
  Database::Query query(**again, "SELECT number, text, real FROM note");
  ASSERT_TRUE(query.step().value_or(false));
  EXPECT_EQ(query.number_at(0), 7);
  EXPECT_EQ(query.maybe_text_at(1), std::nullopt);
  EXPECT_EQ(query.real_at(2), 0.5);
  EXPECT_FALSE(query.step().value_or(true));
}

TEST_F(DatabaseTest, ATransactionThatFailsLeavesNothing) {
  auto database = Database::open(path, kFormat);
  ASSERT_TRUE(database);
  const auto done = (*database)->transact([&]() -> Status {
    EXPECT_TRUE(add(**database, 1));
    return (*database)->execute("this is not SQL");
  });
  EXPECT_FALSE(done);
  EXPECT_EQ(count(**database), 0);
  EXPECT_TRUE((*database)->transact([&] { return add(**database, 2); }));
  EXPECT_EQ(count(**database), 1);
}

TEST_F(DatabaseTest, AHigherVersionIsRefusedAndNotChanged) {
  const Database::Format newer{.name = kFormat.name, .version = 4, .schema = kFormat.schema};
  ASSERT_TRUE(add(**Database::open(path, newer), 1));
  const auto before = std::filesystem::last_write_time(path);
  const auto refused = Database::open(path, kFormat);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("the test's notes is of version 4"));
  EXPECT_EQ(std::filesystem::last_write_time(path), before);
}

TEST_F(DatabaseTest, WhatIsNoDatabaseIsCorrupt) {
  std::ofstream(path) << std::string(5000, 'x');
  const auto refused = Database::open(path, kFormat);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
}

// The log's end is what a crash leaves half written.
TEST_F(DatabaseTest, ATornLogLosesItsLastTransactionsAndNothingElse) {
  const std::string copy = (folder / "copy.sqlite").string();
  {
    auto database = Database::open(path, kFormat);
    ASSERT_TRUE(database);
    for (int number = 0; number < 20; ++number)
      ASSERT_TRUE(add(**database, number));
    std::filesystem::copy_file(path, copy);
    std::filesystem::copy_file(path + "-wal", copy + "-wal");
  }
  const auto whole = std::filesystem::file_size(copy + "-wal");
  std::filesystem::resize_file(copy + "-wal", whole - 1000);
  auto torn = Database::open(copy, kFormat);
  ASSERT_TRUE(torn) << torn.error().message;
  EXPECT_EQ(count(**torn), 19);
}

}  // namespace
}  // namespace hearth::base
