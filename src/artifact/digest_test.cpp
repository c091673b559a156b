#include "artifact/digest.h"

#include <gtest/gtest.h>

namespace hearth::artifact {
namespace {

// The standard's own example (FIPS 180-2, B.1), and the digest of nothing.
constexpr std::string_view kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view kOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Digest, MatchesTheStandard) {
  EXPECT_EQ(sha256("abc").text(), kOfAbc);
  EXPECT_EQ(sha256("").text(), kOfNothing);
}

TEST(Digest, ParsesOnlyItsOwnForm) {
  EXPECT_EQ(Digest::parse(kOfAbc), sha256("abc"));
  EXPECT_FALSE(Digest::parse(""));
  EXPECT_FALSE(Digest::parse(kOfAbc.substr(1)));
  EXPECT_FALSE(Digest::parse("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"));
  EXPECT_FALSE(Digest::parse("../../../../../../../../../../../../../../../../../../../../etc/"));
}

}  // namespace
}  // namespace hearth::artifact
