#include "engine/apt.h"

#include <gmock/gmock.h>

namespace hearth::engine {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST(Apt, ReadsDownloadStatus) {
  EXPECT_DOUBLE_EQ(parse_download_status("dlstatus:3:14.5107:Retrieving file 3 of 27 (1s remaining)").value(),
                   0.145107);
  EXPECT_DOUBLE_EQ(parse_download_status("dlstatus:27:100.0000:Retrieving").value(), 1.0);
  for (const char* line :
       {"", "pmstatus:x:50.0:y", "dlstatus:1:nan:x", "dlstatus:1:abc:x", "dlstatus:1", "dlstatus:1:5x:y"}) {
    EXPECT_FALSE(parse_download_status(line)) << line;
  }
}

TEST(Apt, ReadsThePlan) {
  const auto plan = parse_print_uris(
      "Reading package lists...\n"
      "'http://m.example/z/zlib1g_1.3_amd64.deb' zlib1g_1%3a1.3.dfsg+really1.3.2-3_amd64.deb 90912 SHA256:67b9\n"
      "'http://m.example/d/debconf_1.5.92_all.deb' debconf_1.5.92_all.deb 122512 MD5Sum:7a17\n");
  ASSERT_TRUE(plan);
  ASSERT_THAT(*plan, SizeIs(2));
  EXPECT_EQ(plan->at(0).file, "zlib1g_1%3a1.3.dfsg+really1.3.2-3_amd64.deb");
  EXPECT_EQ(plan->at(0).record, (PackageRecord{.name = "zlib1g",
                                               .version = "1:1.3.dfsg+really1.3.2-3",
                                               .architecture = "amd64",
                                               .bytes = 90912,
                                               .sha256 = "67b9"}));
  EXPECT_EQ(plan->at(1).record.sha256, "");
}

TEST(Apt, RefusesAPlanThatItDoesNotUnderstand) {
  EXPECT_FALSE(parse_print_uris(""));
  for (const char* line : {"'http://m.example/x", "'u' ../../etc/x_1_all.deb 5 SHA256:a",
                           "'u' x_1_all.deb many SHA256:a", "'u' x.deb 5 SHA256:a", "'u' x_1_all.rpm 5 SHA256:a"}) {
    EXPECT_FALSE(parse_print_uris(line)) << line;
  }
}

TEST(Apt, TellsExpiryFromOtherErrors) {
  const std::string expired =
      "E: Release file for http://m.example/dists/forky/InRelease is expired (invalid since 23d). Updates for this "
      "repository "
      "will not be applied.\n";
  EXPECT_TRUE(only_expired("Get:1 http://m.example\n" + expired));
  EXPECT_FALSE(only_expired(expired + "E: The repository 'x' is not signed.\n"));
  EXPECT_FALSE(only_expired("W: nothing wrong\n"));
  EXPECT_FALSE(only_expired(""));
}

TEST(Apt, ComplaintIsTheFirstError) {
  EXPECT_EQ(apt_complaint("Reading\nE: first\nE: second\n"), "first");
  EXPECT_EQ(apt_complaint("killed\n"), "killed");
}

TEST(Apt, AMirrorsOwnKeyIsUsed) {
  EXPECT_EQ(
      keyring_of({.uri = "http://m.example/debian", .suite = "bookworm", .signed_by = "/etc/apt/own.gpg"}).value(),
      "/etc/apt/own.gpg");
}

}  // namespace
}  // namespace hearth::engine
