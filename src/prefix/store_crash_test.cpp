// Every place at which a save can be cut: by an error, by a dead process, by a power loss. Whatever is left, the next
// opening offers only whole states, and the one that was there before is still there.
#include <gtest/gtest.h>

#include "prefix/store_fixture.h"

namespace hearth::prefix {
namespace {

enum class Cut { error, process, power };

// Fails the Nth change of the second save; false when the save needed fewer changes.
bool cut_at(int nth, Cut cut, int error_number) {
  StoreFixture fixture;
  std::mt19937 random{3};
  const Tokens first = random_tokens(random, 200);
  const Tokens second = random_tokens(random, 200);
  EXPECT_TRUE(fixture.open());
  EXPECT_TRUE(fixture.save(kFingerprint, first));
  EXPECT_TRUE(fixture.files.sync_directory("/prefix/states/" + kFingerprint));
  const int before = fixture.files.changes();
  fixture.files.fail_at(nth, error_number);
  const auto saved = fixture.save(kFingerprint, second);
  const bool reached = fixture.files.changes() - before >= nth;
  fixture.files.fail_at(0, 0);
  if (cut == Cut::power) fixture.files.lose_power();
  if (cut != Cut::error) {
    fixture.store.reset();
    EXPECT_TRUE(fixture.open());
  }
  EXPECT_TRUE(fixture.store->find(kFingerprint, first, 64)) << "at " << nth;
  for (const auto& row : fixture.store->list())
    EXPECT_TRUE(fixture.store->verify(row.key)) << "at " << nth;
  if (saved && cut != Cut::power) {
    EXPECT_TRUE(fixture.store->find(kFingerprint, second, 64)) << "at " << nth;
  }
  const auto names = fixture.files.list("/prefix/states/" + kFingerprint);
  EXPECT_TRUE(names);
  for (const auto& name : *names) {
    const bool known = name.ends_with(".kv") || name.ends_with(".prefix");
    // An error leaves what could not be cleaned then to the next opening.
    EXPECT_TRUE(known || cut == Cut::error) << name;
  }
  return reached;
}

class CutSave : public testing::TestWithParam<Cut> {};

TEST_P(CutSave, LeavesTheOldOrTheNewWhole) {
  int nth = 1;
  while (cut_at(nth, GetParam(), EIO) && nth < 100)
    ++nth;
  EXPECT_GT(nth, 6) << "a save is several changes";
  EXPECT_LT(nth, 100);
}

TEST_P(CutSave, AFullDiskLeavesTheOldOrTheNewWhole) {
  int nth = 1;
  while (cut_at(nth, GetParam(), ENOSPC) && nth < 100)
    ++nth;
  EXPECT_LT(nth, 100);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, CutSave, testing::Values(Cut::error, Cut::process, Cut::power));

TEST(PrefixOrphans, AreCountedAndReclaimed) {
  StoreFixture fixture;
  ASSERT_TRUE(fixture.open());
  const std::string folder = *fixture.store->folder_for(kFingerprint);
  ASSERT_TRUE(fixture.put(folder + "/1-1.part", std::string(100, 'x')));
  ASSERT_TRUE(fixture.put(folder + "/" + std::string(32, 'c') + ".kv", std::string(50, 'x')));
  ASSERT_TRUE(fixture.open());
  EXPECT_TRUE(fixture.files.list(folder)->empty());
  ASSERT_TRUE(fixture.told("prefix_orphans"));
  EXPECT_EQ(fixture.events.back().bytes, 150U);
}

}  // namespace
}  // namespace hearth::prefix
