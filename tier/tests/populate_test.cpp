#include "populate.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "os.h"

namespace hearth::tier {
namespace {

TEST(Extents, AreWidenedToPages) {
  PageVector<Extent> extents;
  ASSERT_TRUE(add_extent(extents, 4096 * 10 + 100, 50, 0));
  ASSERT_TRUE(add_extent(extents, 4096 * 20 + 4000, 200, 0));
  EXPECT_EQ(extents[0].at, 4096U * 10);
  EXPECT_EQ(extents[0].bytes, 4096U);
  EXPECT_EQ(extents[1].bytes, 8192U);
  extents.reset();
}

TEST(WriteBack, TellsWhetherTheDiskTookIt) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const char page[4096] = {};
  ASSERT_EQ(os::write_all(::fileno(file), page, sizeof page, 0), 0);
  EXPECT_EQ(os::write_back(::fileno(file), 0, sizeof page), 0);
  EXPECT_EQ(os::write_back(::fileno(file), 0, 0), 0);
  std::fclose(file);
  EXPECT_EQ(os::write_back(-1, 0, 0), EBADF);
}

TEST(Pages, OnlyThoseThatRangesAreRoundedToFit) {
  EXPECT_TRUE(os::pages_fit(4096));
  EXPECT_FALSE(os::pages_fit(16384));
  EXPECT_FALSE(os::pages_fit(65536));
  EXPECT_FALSE(os::pages_fit(-1));
  EXPECT_EQ(os::page_bytes(), ::sysconf(_SC_PAGESIZE));
}

TEST(Extents, AreSortedByOrderAndNeighboursJoined) {
  PageVector<Extent> extents;
  ASSERT_TRUE(add_extent(extents, 4096 * 100, 4096, 1));
  ASSERT_TRUE(add_extent(extents, 4096 * 11, 4096, 0));
  ASSERT_TRUE(add_extent(extents, 4096 * 10, 4096, 0));
  ASSERT_TRUE(add_extent(extents, 4096 * 50, 4096, 0));
  sort_extents(extents);
  ASSERT_EQ(extents.size(), 3U);
  EXPECT_EQ(extents[0].at, 4096U * 10);
  EXPECT_EQ(extents[0].bytes, 8192U);
  EXPECT_EQ(extents[1].at, 4096U * 50);
  EXPECT_EQ(extents[2].order, 1);
  extents.reset();
}

TEST(Extents, AnEmptyListIsDone) {
  PageVector<Extent> extents;
  sort_extents(extents);
  EXPECT_EQ(populate_extents(extents, 4, 1 << 20, nullptr), 0);
}

class Populate : public testing::Test {
 protected:
  void SetUp() override {
    memory_ = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory_, MAP_FAILED);
    ASSERT_TRUE(add_extent(extents_, reinterpret_cast<std::uintptr_t>(memory_), kBytes, 0));
  }
  void TearDown() override {
    ::munmap(memory_, kBytes);
    extents_.reset();
  }
  static constexpr std::size_t kBytes = 64 * 4096;
  void* memory_ = nullptr;
  PageVector<Extent> extents_;
};

TEST_F(Populate, BringsEverythingIn) {
  ASSERT_EQ(os::resident_bytes(memory_, kBytes), 0U);
  const int error = populate_extents(extents_, 3, 8192, nullptr);
  EXPECT_EQ(error, 0);
  EXPECT_EQ(os::resident_bytes(memory_, kBytes), kBytes);
}

// An extent that begins and ends within a piece, as layers do.
TEST_F(Populate, BringsWhatLiesAcrossPieces) {
  extents_.clear();
  const auto at = reinterpret_cast<std::uintptr_t>(memory_);
  ASSERT_TRUE(add_extent(extents_, at + 3 * 4096, 30 * 4096, 0));
  ASSERT_TRUE(add_extent(extents_, at + 40 * 4096, 4096, 1));
  EXPECT_EQ(populate_extents(extents_, 3, 8 * 4096, nullptr), 0);
  EXPECT_EQ(os::resident_bytes(reinterpret_cast<void*>(at + 3 * 4096), 30 * 4096), 30U * 4096);
  EXPECT_EQ(os::resident_bytes(memory_, kBytes), 31U * 4096);
}

TEST_F(Populate, StopsWhenTold) {
  EXPECT_EQ(populate_extents(extents_, 1, 4096, [] { return true; }), ECANCELED);
  EXPECT_LT(os::resident_bytes(memory_, kBytes), kBytes);
}

TEST_F(Populate, ReportsAHole) {
  ::munmap(static_cast<char*>(memory_) + 32 * 4096, 4096);
  EXPECT_NE(populate_extents(extents_, 2, 4096, nullptr), 0);
}

}  // namespace
}  // namespace hearth::tier
