#include "daemon/tier_library.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_folder.h"

namespace hearth::daemon {
namespace {

namespace fs = std::filesystem;
using domain::CapabilityState;
using testing::HasSubstr;

class TierLibrary : public testing::Test {
 protected:
  std::string add(const std::string& where) {
    fs::create_directories(folder / where);
    std::ofstream(folder / where / "tier.so") << where;
    return folder / where / "tier.so";
  }
  test::TempFolder own;
  fs::path folder = own.path();
};

TEST_F(TierLibrary, APathThatCanBePreloadedIsTakenAsItIs) {
  const auto plain = add("plain");
  EXPECT_EQ(preloadable(plain, folder), plain);
  EXPECT_FALSE(fs::exists(folder / "libhearth_tier.so"));
}

TEST_F(TierLibrary, APathThatThePreloadWouldSplitIsReachedThroughALink) {
  for (const char* where : {"my hearth", "a:b"}) {
    const auto link = preloadable(add(where), folder);
    ASSERT_TRUE(link);
    EXPECT_TRUE(can_be_preloaded(*link));
    std::string found;
    std::getline(std::ifstream(*link), found);
    EXPECT_EQ(found, where);
  }
}

TEST_F(TierLibrary, ALinkThatCannotBeMadeIsAnError) {
  const auto refused = preloadable(add("my hearth"), folder / "none");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("No such file"));
}

TEST_F(TierLibrary, WhatItCanDoDependsOnEngineLibraryAndKernel) {
  domain::EngineInfo engine;
  engine.tier = {.available = true, .present = {"a"}, .missing = {}};
  EXPECT_EQ(tier_capability(engine, "/opt/my hearth/tier.so", 4096).state, CapabilityState::works);
  EXPECT_THAT(tier_capability(engine, "/opt/tier.so", 16384).why, HasSubstr("16384"));
  EXPECT_EQ(tier_capability(engine, "/opt/tier.so", 16384).state, CapabilityState::degraded);
  EXPECT_EQ(tier_capability(engine, "", 4096).state, CapabilityState::degraded);
  engine.tier = {.available = false, .present = {"a"}, .missing = {"b: it is linked statically"}};
  EXPECT_THAT(tier_capability(engine, "/opt/tier.so", 4096).why, HasSubstr("1 of 2"));
}

}  // namespace
}  // namespace hearth::daemon
