#include "daemon/run_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::daemon {
namespace {

namespace fs = std::filesystem;

class RunFolder : public testing::Test {
 protected:
  RunFolder() { fs::create_directories(root_); }
  ~RunFolder() override { fs::remove_all(root_); }
  fs::path root_ = fs::temp_directory_path() / ("hearth-run-" + std::to_string(::getpid()));
  sys::LinuxFiles files_;
};

TEST_F(RunFolder, IsPrivateAndInTheDataDirectory) {
  const auto folder = make_run_folder(files_, root_);
  ASSERT_TRUE(folder);
  EXPECT_EQ(*folder, root_ / "run" / "engines");
  EXPECT_EQ(fs::status(*folder).permissions() & fs::perms::all, fs::perms::owner_all);
}

TEST_F(RunFolder, ALongDataDirectoryGetsAShortFolderOfItsOwn) {
  const auto one = make_run_folder(files_, root_ / std::string(120, 'a'));
  const auto other = make_run_folder(files_, root_ / std::string(120, 'b'));
  ASSERT_TRUE(one && other);
  EXPECT_LT(one->size(), 60U);
  EXPECT_NE(*one, *other);
  fs::remove(*one);
  fs::remove(*other);
}

TEST_F(RunFolder, APathThatThePreloadWouldSplitGetsAFolderOfItsOwn) {
  for (const char* name : {"my hearth", "a:b"}) {
    const auto folder = make_run_folder(files_, root_ / name);
    ASSERT_TRUE(folder);
    EXPECT_EQ(folder->find_first_of(" :"), std::string::npos);
    fs::remove(*folder);
  }
}

TEST_F(RunFolder, AFolderThatOthersMayEnterIsRefused) {
  const fs::path folder = root_ / "run" / "engines";
  fs::create_directories(folder);
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  const auto refused = make_run_folder(files_, root_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::permission);
}

}  // namespace
}  // namespace hearth::daemon
