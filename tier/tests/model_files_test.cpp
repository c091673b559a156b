#include "model_files.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace hearth::tier {
namespace {

using Ranges = std::vector<std::pair<std::uintptr_t, std::uintptr_t>>;

constexpr std::uintptr_t kBase = 0x100000;

MappedTensor tensor(std::uintptr_t page, std::size_t bytes, bool by_rows = false) {
  return {kBase + page * os::kPage, bytes, -1, 0, by_rows};
}

// In pages from the start of a mapping of 100.
Ranges unused(std::initializer_list<MappedTensor> tensors) {
  PageVector<MappedTensor> noted;
  PageVector<PageRange> out;
  for (const MappedTensor& one : tensors)
    EXPECT_TRUE(noted.push(one));
  ModelFiles::unused_pages({kBase, kBase + 100 * os::kPage, 0, 0, true}, noted, out);
  Ranges ranges;
  for (const PageRange& range : out)
    ranges.emplace_back((range.begin - kBase) / os::kPage, (range.end - kBase) / os::kPage);
  noted.reset();
  out.reset();
  return ranges;
}

TEST(UnusedPages, AreBetweenTheTensorsUsedInPlace) {
  EXPECT_EQ(unused({}), (Ranges{{0, 100}}));
  EXPECT_EQ(unused({tensor(40, os::kPage * 10), tensor(10, os::kPage)}), (Ranges{{0, 10}, {11, 40}, {50, 100}}));
  EXPECT_EQ(unused({tensor(0, os::kPage * 100)}), Ranges{});
}

TEST(UnusedPages, HoldNoPartOfATensor) {
  EXPECT_EQ(unused({tensor(10, os::kPage + 1)}), (Ranges{{0, 10}, {12, 100}}));
  MappedTensor shifted = tensor(10, os::kPage);
  shifted.at += 32;
  EXPECT_EQ(unused({shifted}), (Ranges{{0, 10}, {12, 100}}));
  EXPECT_EQ(unused({tensor(10, os::kPage * 50), tensor(20, os::kPage)}), (Ranges{{0, 10}, {60, 100}}));
}

TEST(UnusedPages, CountWhatIsOnlyLookedUpByRowsAsPacked) {
  EXPECT_EQ(unused({tensor(10, os::kPage * 5, true)}), (Ranges{{0, 100}}));
}

TEST(UnusedPages, IgnoreTensorsOfOtherMappings) {
  const MappedTensor before{kBase - 2 * os::kPage, os::kPage, -1, 0, false};
  EXPECT_EQ(unused({before, tensor(200, os::kPage)}), (Ranges{{0, 100}}));
}

/// Bytes of this mapping that the process holds ("Rss" of /proc/self/smaps).
std::uint64_t held(const void* at) {
  std::ostringstream address;
  address << std::hex << reinterpret_cast<std::uintptr_t>(at) << '-';
  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  while (std::getline(smaps, line) && !line.starts_with(address.str())) {
  }
  while (std::getline(smaps, line)) {
    if (line.starts_with("Rss:")) return std::stoull(line.substr(4)) * 1024;
  }
  return 0;
}

/// A file of 400 pages, mapped and read whole.
class MappedModel : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = 400 * os::kPage;
  void map(int kind) {
    path_ = testing::TempDir() + "model_files_XXXXXX";
    fd_ = ::mkstemp(path_.data());
    ASSERT_GE(fd_, 0);
    const std::string bytes(kBytes, 'x');
    ASSERT_EQ(os::write_all(fd_, bytes.data(), bytes.size(), 0), 0);
    memory_ = static_cast<char*>(::mmap(nullptr, kBytes, PROT_READ, kind | MAP_POPULATE, fd_, 0));
    ASSERT_NE(memory_, MAP_FAILED);
  }
  void TearDown() override {
    ::munmap(memory_, kBytes);
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  std::string path_;
  int fd_ = -1;
  char* memory_ = nullptr;
  ModelFiles files_;
};

TEST_F(MappedModel, LetsGoOfWhatWasPacked) {
  map(MAP_SHARED);
  files_.note("output.weight", memory_ + 100 * os::kPage, 50 * os::kPage);
  ASSERT_EQ(held(memory_), kBytes);
  files_.let_go_of_packed();
  EXPECT_EQ(held(memory_), 50 * os::kPage);
  EXPECT_EQ(os::resident_bytes(memory_, kBytes), kBytes) << "the page cache keeps it";
  EXPECT_EQ(std::string(memory_, kBytes), std::string(kBytes, 'x'));
}

TEST_F(MappedModel, KeepsAllWherePagesCanBePrivate) {
  map(MAP_PRIVATE);
  files_.note("output.weight", memory_ + 100 * os::kPage, 50 * os::kPage);
  files_.let_go_of_packed();
  EXPECT_EQ(held(memory_), kBytes);
}

TEST_F(MappedModel, KeepsFilesThatHoldNoModel) {
  map(MAP_SHARED);
  files_.let_go_of_packed();
  EXPECT_EQ(held(memory_), kBytes);
}

}  // namespace
}  // namespace hearth::tier
