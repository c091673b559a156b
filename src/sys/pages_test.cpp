#include "sys/pages.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "base/fd.h"
#include "sys/fake_machine.h"
#include "sys/files.h"

namespace hearth::sys {
namespace {

constexpr base::Bytes kSize = 1'000'003;  // not a whole number of pages

class RealFile {
 public:
  RealFile() {
    // A folder on a disk: pages of a file system in memory cannot be dropped.
    char pattern[] = "/var/tmp/hearth-pages-XXXXXX";
    const base::Fd fd(::mkstemp(pattern));
    path_ = pattern;
    EXPECT_TRUE(write_atomic(files_, path_, std::string(kSize, 'x')));  // synced, so that no page is dirty
  }
  ~RealFile() { ::unlink(path_.c_str()); }
  LinuxPages& pages() { return pages_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  LinuxFiles files_;
  LinuxPages pages_;
  std::string path_;
};

class FakeFile {
 public:
  FakeFile() { pages_.add(path_, kSize, kSize); }
  FakePages& pages() { return pages_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  FakePages pages_;
  std::string path_ = "/models/a.gguf";
};

template <typename File>
class PagesContract : public testing::Test {
 protected:
  Pages& pages() { return file_.pages(); }
  File file_;
};
using FileKinds = testing::Types<RealFile, FakeFile>;
TYPED_TEST_SUITE(PagesContract, FileKinds);

TYPED_TEST(PagesContract, AFreshFileIsAllThereAndADroppedOneIsNot) {
  const auto& path = this->file_.path();
  const auto warm = this->pages().residency(path).value();
  EXPECT_EQ(warm.total, kSize);
  EXPECT_EQ(warm.resident, kSize);
  ASSERT_TRUE(this->pages().drop(path));
  EXPECT_EQ(this->pages().residency(path).value().resident, 0U);
  ASSERT_TRUE(this->pages().read_ahead(path));
  EXPECT_GT(this->pages().residency(path).value().total, 0U);
}

TYPED_TEST(PagesContract, RangesAreCutAtTheEnd) {
  const auto& path = this->file_.path();
  const auto tail = this->pages().residency(path, ByteRange{kSize - 3, 1'000'000}).value();
  EXPECT_EQ(tail.total, 3U);
  EXPECT_EQ(tail.resident, 3U);
  const auto beyond = this->pages().residency(path, ByteRange{kSize + 1, 10}).value();
  EXPECT_EQ(beyond.total, 0U);
  EXPECT_EQ(beyond.resident, 0U);
  ASSERT_TRUE(this->pages().drop(path, ByteRange{kSize, 10}));  // nothing: not "everything to the end"
  EXPECT_EQ(this->pages().residency(path).value().resident, kSize);
}

TYPED_TEST(PagesContract, AMissingFileIsNotFound) {
  EXPECT_EQ(this->pages().residency("/nowhere/x", {}).error().code, base::ErrorCode::not_found);
  EXPECT_EQ(this->pages().drop("/nowhere/x", {}).error().code, base::ErrorCode::not_found);
  EXPECT_EQ(this->pages().read_ahead("/nowhere/x", {}).error().code, base::ErrorCode::not_found);
}

TEST(LinuxPages, MincoreAgreesAndSaysThatItAnswered) {
  RealFile file;
  LinuxPages by_mincore(PageMechanism::mincore);
  const auto warm = by_mincore.residency(file.path()).value();
  EXPECT_EQ(warm.by, PageMechanism::mincore);
  EXPECT_EQ(warm.resident, kSize);
  const auto middle = by_mincore.residency(file.path(), ByteRange{5000, 100}).value();
  EXPECT_EQ(middle.resident, 100U);
  ASSERT_TRUE(by_mincore.drop(file.path()));
  EXPECT_EQ(by_mincore.residency(file.path()).value().resident, 0U);
}

TEST(LinuxPages, AFolderIsNoFile) {
  EXPECT_EQ(LinuxPages().residency("/tmp").error().code, base::ErrorCode::unsupported);
}

}  // namespace
}  // namespace hearth::sys
