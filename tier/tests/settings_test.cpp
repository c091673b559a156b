#include "settings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hearth::tier {
namespace {

Settings parse(std::vector<const char*> lines) {
  lines.push_back(nullptr);
  return parse_settings(lines.data());
}

TEST(TierSettings, NothingGivenMeansStandAside) {
  const Settings settings = parse({"PATH=/bin", "HEARTH_URL=x"});
  EXPECT_EQ(settings.socket, -1);
  EXPECT_EQ(settings.protocol, 0U);
  EXPECT_STREQ(settings.key, "");
}

TEST(TierSettings, AllValuesAreRead) {
  const Settings settings =
      parse({"HEARTH_TIER_FD=7", "HEARTH_TIER_PROTOCOL=1", "HEARTH_TIER_DIR=/data/packed", "HEARTH_TIER_KEY=a-1.b_C",
             "HEARTH_TIER_CHECK=sample", "HEARTH_TIER_PACK=off", "HEARTH_TIER_QUOTA=1000", "HEARTH_TIER_READERS=4",
             "HEARTH_TIER_ARENA=off", "HEARTH_TIER_VERBOSE=1"});
  EXPECT_EQ(settings.socket, 7);
  EXPECT_EQ(settings.protocol, 1U);
  EXPECT_STREQ(settings.directory, "/data/packed");
  EXPECT_STREQ(settings.key, "a-1.b_C");
  EXPECT_EQ(settings.check, CheckMode::kSample);
  EXPECT_FALSE(settings.publish);
  EXPECT_EQ(settings.quota, 1000U);
  EXPECT_EQ(settings.readers, 4U);
  EXPECT_FALSE(settings.arena);
  EXPECT_TRUE(settings.verbose);
}

TEST(TierSettings, MalformedNumbersCountAsNotGiven) {
  EXPECT_EQ(parse({"HEARTH_TIER_FD=-1"}).socket, -1);
  EXPECT_EQ(parse({"HEARTH_TIER_FD=7x"}).socket, -1);
  EXPECT_EQ(parse({"HEARTH_TIER_FD="}).socket, -1);
  EXPECT_EQ(parse({"HEARTH_TIER_FD=99999999999999999999999"}).socket, -1);
  EXPECT_EQ(parse({"HEARTH_TIER_READERS=0"}).readers, 0U);
  EXPECT_EQ(parse({"HEARTH_TIER_READERS=17"}).readers, 0U);
  EXPECT_EQ(parse({"HEARTH_TIER_QUOTA=18446744073709551616"}).quota, UINT64_MAX);
}

TEST(TierSettings, KeysThatAreNotOnePathPartAreRefused) {
  for (const char* key : {"", ".", "..", ".hidden", "a/b", "a b", "a\nb", "\xC3\xA9"})
    EXPECT_FALSE(valid_key(key)) << key;
  EXPECT_TRUE(valid_key("0123456789abcdef"));
  EXPECT_TRUE(valid_key(std::string(127, 'k').c_str()));
  EXPECT_FALSE(valid_key(std::string(128, 'k').c_str()));
  EXPECT_STREQ(parse({"HEARTH_TIER_KEY=../etc"}).key, "");
}

TEST(TierSettings, ATooLongFolderCountsAsNotGiven) {
  const std::string line = "HEARTH_TIER_DIR=/" + std::string(4000, 'd');
  EXPECT_STREQ(parse({line.c_str()}).directory, "");
}

TEST(TierSettings, ScrubbingTakesOursAndLeavesTheRest) {
  std::string a = "PATH=/bin", b = "HEARTH_TIER_FD=3", c = "HEARTH_URL=u", d = "HEARTH_TIER_KEY=k", e = "Z=1";
  std::vector<char*> lines = {a.data(), b.data(), c.data(), d.data(), e.data(), nullptr};
  scrub_settings(lines.data());
  EXPECT_STREQ(lines[0], "PATH=/bin");
  EXPECT_STREQ(lines[1], "HEARTH_URL=u");
  EXPECT_STREQ(lines[2], "Z=1");
  EXPECT_EQ(lines[3], nullptr);
}

}  // namespace
}  // namespace hearth::tier
