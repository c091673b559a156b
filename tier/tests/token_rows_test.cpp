#include "token_rows.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "jumps.h"

namespace hearth::tier {
namespace {

constexpr std::size_t kRowBytes = 1152;  // 2048 values of Q4_0

const void* address(std::uintptr_t at) { return reinterpret_cast<const void*>(at); }

TEST(TokenRow, IsItsPages) {
  const TokenRows::Range first = TokenRows::row(address(0x10000), kRowBytes, 100, 0);
  EXPECT_EQ(first.at, 0x10000U);
  EXPECT_EQ(first.bytes, os::kPage);
  const TokenRows::Range across = TokenRows::row(address(0x10000), kRowBytes, 100, 3);  // 3456 .. 4608
  EXPECT_EQ(across.at, 0x10000U);
  EXPECT_EQ(across.bytes, 2 * os::kPage);
  const TokenRows::Range unaligned = TokenRows::row(address(0x10000 + 4000), kRowBytes, 100, 1);  // 5152 .. 6304
  EXPECT_EQ(unaligned.at, 0x11000U);
  EXPECT_EQ(unaligned.bytes, os::kPage);
}

TEST(TokenRow, OfAnImpossibleTokenIsNothing) {
  EXPECT_EQ(TokenRows::row(address(0x10000), kRowBytes, 100, -1).bytes, 0U);
  EXPECT_EQ(TokenRows::row(address(0x10000), kRowBytes, 100, 100).bytes, 0U);
  EXPECT_EQ(TokenRows::row(nullptr, 0, 0, 0).bytes, 0U);
}

/// A matrix of one page a row in a file of its own, out of the page cache where the file system can.
class TokenRowsOfAFile : public testing::Test {
 protected:
  static constexpr int kRows = 600;
  void SetUp() override {
    std::string path = testing::TempDir() + "token_rows_XXXXXX";
    fd_ = ::mkstemp(path.data());
    ASSERT_GE(fd_, 0);
    ::unlink(path.c_str());
    const std::string page(os::kPage, 'x');
    for (int i = 0; i < kRows; ++i)
      ASSERT_EQ(os::write_all(fd_, page.data(), page.size(), i * os::kPage), 0);
    ASSERT_EQ(::fsync(fd_), 0);
    (void)os::drop_cache(fd_);
    memory_ = ::mmap(nullptr, kRows * os::kPage, PROT_READ, MAP_SHARED, fd_, 0);
    ASSERT_NE(memory_, MAP_FAILED);
    os::read_singly(memory_, kRows * os::kPage);
  }
  void TearDown() override {
    ::munmap(memory_, kRows * os::kPage);
    ::close(fd_);
  }
  static void add_token(std::int32_t token) { hearth_tier_batch_ids[hearth_tier_batch_tokens++ % kTokensKept] = token; }
  /// In the page cache, or on the way there.
  [[nodiscard]] bool asked_for(int row) const {
    const std::uint64_t there = os::cached_bytes(fd_, row * os::kPage, os::kPage);
    return there == os::kPage || there == os::kUnknown;  // a kernel without cachestat(2) cannot tell
  }
  int fd_ = -1;
  void* memory_ = nullptr;
  TokenRows rows_;
};

TEST_F(TokenRowsOfAFile, AreAskedForTogether) {
  rows_.note(memory_, kRows * os::kPage, kRows);
  const std::uint64_t before = os::cached_bytes(fd_, 0, kRows * os::kPage);
  for (const std::int32_t token : {400, 7, 599, -1, 123456})
    add_token(token);
  rows_.read_ahead(5);
  for (const int row : {400, 7, 599})
    EXPECT_TRUE(asked_for(row)) << row;
  if (before == 0) {
    EXPECT_LT(os::cached_bytes(fd_, 0, kRows * os::kPage), 100 * os::kPage) << "much more than asked for";
  }
}

TEST_F(TokenRowsOfAFile, OnlyOfTheLastTokens) {
  rows_.note(memory_, kRows * os::kPage, kRows);
  const std::uint64_t before = os::cached_bytes(fd_, 0, kRows * os::kPage);
  add_token(500);
  add_token(10);
  rows_.read_ahead(1);
  EXPECT_TRUE(asked_for(10));
  if (before == 0) {
    EXPECT_EQ(os::cached_bytes(fd_, 500 * os::kPage, os::kPage), 0U);
  }
}

TEST_F(TokenRowsOfAFile, MoreTokensThanAreKeptAreNoTrouble) {
  rows_.note(memory_, kRows * os::kPage, kRows);
  for (std::uint64_t i = 0; i < 2 * kTokensKept; ++i)
    add_token(3);
  rows_.read_ahead(5 * kTokensKept);
  EXPECT_TRUE(asked_for(3));
}

TEST_F(TokenRowsOfAFile, OfAMatrixThatMakesNoRowsAreNothing) {
  rows_.note(memory_, kRows * os::kPage, 0);
  rows_.note(memory_, 3, 4);
  add_token(0);
  rows_.read_ahead(1);  // divides by nothing
}

}  // namespace
}  // namespace hearth::tier
