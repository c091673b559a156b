// One suite for both implementations, then what only the one in memory can show: faults and power loss.
#include "sys/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "sys/fake_files.h"
#include "tests/support/temp_folder.h"

namespace hearth::sys {
namespace {

using base::ErrorCode;

class OnDisk {
 public:
  Files& files() { return files_; }
  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  LinuxFiles files_;
  test::TempFolder folder_;
  std::string root_ = folder_.path();
};

class InMemory {
 public:
  InMemory() { EXPECT_TRUE(files_.ensure_directory(root_, 0700)); }
  FakeFiles& files() { return files_; }
  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  FakeFiles files_;
  std::string root_ = "/root";
};

template <typename Place>
class FilesContract : public testing::Test {
 protected:
  Files& files() { return place_.files(); }
  [[nodiscard]] std::string path(const std::string& name) const { return place_.root() + "/" + name; }

  Place place_;
};
using Places = testing::Types<OnDisk, InMemory>;
TYPED_TEST_SUITE(FilesContract, Places);

TYPED_TEST(FilesContract, ReadsAPartOfAFile) {
  ASSERT_TRUE(write_atomic(this->files(), this->path("a"), "0123456789"));
  EXPECT_EQ(this->files().read_at(this->path("a"), 2, 3), "234");
  EXPECT_EQ(this->files().read_at(this->path("a"), 8, 100), "89");
  EXPECT_EQ(this->files().read_at(this->path("a"), 10, 1), "");
  EXPECT_EQ(this->files().read_at(this->path("b"), 0, 1).error().code, ErrorCode::not_found);
}

TYPED_TEST(FilesContract, SyncsAFileThatSomebodyElseWrote) {
  ASSERT_TRUE(write_atomic(this->files(), this->path("a"), "x", Survives::process_death));
  EXPECT_TRUE(this->files().sync_file(this->path("a")));
  EXPECT_EQ(this->files().sync_file(this->path("b")).error().code, ErrorCode::not_found);
}

TYPED_TEST(FilesContract, AtomicWriteReplacesTheWhole) {
  for (const Survives survives : {Survives::process_death, Survives::power_loss}) {
    ASSERT_TRUE(write_atomic(this->files(), this->path("a"), "a longer first text", survives));
    ASSERT_TRUE(write_atomic(this->files(), this->path("a"), "second", survives));
    EXPECT_EQ(this->files().read(this->path("a"), 100), "second");
    EXPECT_EQ(this->files().size(this->path("a")), 6U);
    EXPECT_EQ(this->files().list(this->place_.root()).value(), std::vector<std::string>{"a"});
  }
}

TYPED_TEST(FilesContract, ReadHasALimitAndNamesWhatIsMissing) {
  ASSERT_TRUE(write_atomic(this->files(), this->path("a"), "12345"));
  EXPECT_EQ(this->files().read(this->path("a"), 5), "12345");
  EXPECT_EQ(this->files().read(this->path("a"), 4).error().code, ErrorCode::too_large);
  const auto missing = this->files().read(this->path("none"), 5);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().message, "opening " + this->path("none") + ": No such file or directory");
  EXPECT_EQ(this->files().size(this->path("none")).error().code, ErrorCode::not_found);
  EXPECT_EQ(this->files().size(this->place_.root()).error().code, ErrorCode::unsupported);
}

TYPED_TEST(FilesContract, CreateMindsWhatIsThere) {
  EXPECT_TRUE(this->files().create(this->path("a"), IfPresent::fail, 0600));
  EXPECT_EQ(this->files().create(this->path("a"), IfPresent::fail, 0600).error().code, ErrorCode::already_exists);
  EXPECT_TRUE(this->files().create(this->path("a"), IfPresent::truncate, 0600));
  EXPECT_EQ(this->files().create(this->path("no/a"), IfPresent::truncate, 0600).error().code, ErrorCode::not_found);
}

TYPED_TEST(FilesContract, RemoveSaysWhetherItWasThere) {
  ASSERT_TRUE(write_atomic(this->files(), this->path("a"), ""));
  EXPECT_EQ(this->files().remove(this->path("a")), true);
  EXPECT_EQ(this->files().remove(this->path("a")), false);
}

TYPED_TEST(FilesContract, FoldersAreMadeAllTheWayAndListed) {
  EXPECT_TRUE(this->files().ensure_directory(this->path("x/y/z"), 0700));
  EXPECT_TRUE(this->files().ensure_directory(this->path("x/y/z"), 0700));
  EXPECT_EQ(this->files().list(this->path("x")).value(), std::vector<std::string>{"y"});
  EXPECT_TRUE(this->files().sync_directory(this->path("x/y")));
  EXPECT_EQ(this->files().list(this->path("none")).error().code, ErrorCode::not_found);
  ASSERT_TRUE(write_atomic(this->files(), this->path("file"), ""));
  EXPECT_FALSE(this->files().ensure_directory(this->path("file"), 0700));
}

TYPED_TEST(FilesContract, ALockIsExclusiveAndEndsWithItsHolder) {
  auto held = this->files().lock(this->path("lock"));
  ASSERT_TRUE(held);
  EXPECT_EQ(this->files().lock(this->path("lock")).error().code, ErrorCode::in_use);
  held->reset();
  EXPECT_TRUE(this->files().lock(this->path("lock")));
}

TYPED_TEST(FilesContract, FreeSpaceIsKnown) {
  EXPECT_GT(this->files().free_space(this->place_.root()).value(), 0U);
  EXPECT_EQ(this->files().free_space(this->path("none")).error().code, ErrorCode::not_found);
}

TEST(LinuxFiles, ModesAreAsAsked) {
  OnDisk disk;
  ASSERT_TRUE(disk.files().ensure_directory(disk.root() + "/d/e", 0700));
  ASSERT_TRUE(write_atomic(disk.files(), disk.root() + "/d/f", "x"));
  struct stat status {};
  ASSERT_EQ(::stat((disk.root() + "/d").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat((disk.root() + "/d/f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(LinuxFiles, ReadsFilesThatHaveNoLength) {
  EXPECT_GT(LinuxFiles().read("/proc/self/stat", 4096).value().size(), 10U);
}

TEST(DirectoryOf, KnowsTheEdges) {
  EXPECT_EQ(directory_of("/a/b"), "/a");
  EXPECT_EQ(directory_of("/b"), "/");
  EXPECT_EQ(directory_of("b"), ".");
}

// Fails the first operation of an atomic write, then the second, … until it succeeds; each time with the power lost
// after.
TEST(WriteAtomic, IsOldOrNewWhateverFailsAndWhenever) {
  for (const int error : {ENOSPC, EIO}) {
    for (int nth = 1;; ++nth) {
      InMemory memory;
      FakeFiles& files = memory.files();
      ASSERT_TRUE(write_atomic(files, "/root/a", "old"));
      files.fail_at(nth, error);
      const auto written = write_atomic(files, "/root/a", "new!");
      const auto seen = files.read("/root/a", 100).value();
      EXPECT_TRUE(seen == "old" || seen == "new!") << seen;
      files.lose_power();
      const auto durable = files.read("/root/a", 100).value();
      EXPECT_TRUE(durable == "old" || durable == "new!") << durable;
      if (!written) {
        EXPECT_EQ(written.error().code, error == ENOSPC ? ErrorCode::no_space : ErrorCode::io);
        continue;
      }
      EXPECT_EQ(durable, "new!");
      EXPECT_EQ(nth, 6);  // create, write, sync, rename, sync of the folder had their turn
      break;
    }
  }
}

TEST(WriteAtomic, WithoutSyncThePowerTakesItButNotThePiecesOfIt) {
  InMemory memory;
  ASSERT_TRUE(write_atomic(memory.files(), "/root/a", "old"));
  ASSERT_TRUE(write_atomic(memory.files(), "/root/a", "new", Survives::process_death));
  EXPECT_EQ(memory.files().read("/root/a", 100), "new");
  memory.files().lose_power();
  EXPECT_EQ(memory.files().read("/root/a", 100), "old");
}

}  // namespace
}  // namespace hearth::sys
