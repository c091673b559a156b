#include "reads.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace hearth::tier {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kModelBytes = 4u << 20;

class ReadsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hearth_reads_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    model_ = root_ / "model";
    std::ofstream(model_) << std::string(kModelBytes, 'x');
    folder_ = ::open(root_.c_str(), O_RDONLY | O_DIRECTORY);
    const int fd = ::open(model_.c_str(), O_RDONLY);
    mapped_ = static_cast<char*>(::mmap(nullptr, kModelBytes, PROT_READ, MAP_SHARED, fd, 0));
    engine_maps().add(mapped_, kModelBytes, fd, 0, false);
    ::close(fd);
  }
  void TearDown() override {
    ::munmap(mapped_, kModelBytes);
    ::close(folder_);
    fs::remove_all(root_);
  }
  void keep_one() {
    Reads first;
    EXPECT_FALSE(first.open(model_.c_str(), folder_));
    first.learn(mapped_ + 100'000, 50'000);
    first.keep();
  }
  [[nodiscard]] bool opens() {
    Reads again;
    return again.open(model_.c_str(), folder_);
  }
  [[nodiscard]] fs::path list() const { return root_ / kReadsName; }

  fs::path root_;
  fs::path model_;
  int folder_ = -1;
  char* mapped_ = nullptr;
};

TEST_F(ReadsTest, WhatWasLearntIsThereAtTheNextStart) {
  keep_one();
  EXPECT_TRUE(opens());
  EXPECT_EQ(fs::file_size(list()), sizeof(ReadsHeader) + sizeof(ReadExtent));  // the head touches what follows
}

TEST_F(ReadsTest, NothingLearntKeepsNothing) {
  Reads reads;
  EXPECT_FALSE(reads.open(model_.c_str(), folder_));
  int other = 0;
  reads.learn(&other, sizeof other);
  reads.keep();
  EXPECT_FALSE(fs::exists(list()));
}

TEST_F(ReadsTest, ADamagedShortOrForeignListIsNotUsed) {
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{17}, std::uint64_t{40}}) {
    keep_one();
    std::fstream file(list(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put('\x7f');
    file.close();
    EXPECT_FALSE(opens()) << at;
    fs::remove(list());
  }
  keep_one();
  fs::resize_file(list(), sizeof(ReadsHeader) + 3);
  EXPECT_FALSE(opens());
  fs::remove(list());
  keep_one();
  fs::resize_file(model_, kModelBytes - 1);
  EXPECT_FALSE(opens());
}

TEST(JoinReads, NeighboursAreOneAndPagesAreWhole) {
  PageVector<ReadExtent> extents;
  for (const ReadExtent& extent :
       {ReadExtent{1'000'000, 10}, ReadExtent{5, 10}, ReadExtent{20'000, 4096}, ReadExtent{1'990'000, 50'000}})
    ASSERT_TRUE(extents.push(extent));
  join_reads(extents, 2'000'000);
  ASSERT_EQ(extents.size(), 3U);
  EXPECT_EQ(extents[0].offset, 0U);
  EXPECT_EQ(extents[0].bytes, 24'576U);
  EXPECT_EQ(extents[1].offset % 4096, 0U);
  EXPECT_EQ(extents[2].offset + extents[2].bytes, 2'000'000U);
  extents.reset();
}

}  // namespace
}  // namespace hearth::tier
