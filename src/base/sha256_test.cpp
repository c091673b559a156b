#include "base/sha256.h"

#include <gtest/gtest.h>

namespace hearth::base {
namespace {

// The standard's own example (FIPS 180-2, B.1), and the digest of nothing.
constexpr std::string_view kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view kOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Sha256, MatchesTheStandard) {
  Sha256 of_abc;
  of_abc.add("abc");
  EXPECT_EQ(of_abc.finish_hex(), kOfAbc);
  EXPECT_EQ(Sha256().finish_hex(), kOfNothing);
}

TEST(Sha256, DoesNotDependOnHowTheBytesCome) {
  Sha256 hash;
  for (const char c : std::string_view("abc"))
    hash.add(std::as_bytes(std::span(&c, 1)));
  EXPECT_EQ(hash.finish_hex(), kOfAbc);
}

TEST(Sha256, PartsAreToldApart) {
  Sha256 one;
  one.add_part("ab");
  one.add_part("c");
  Sha256 other;
  other.add_part("a");
  other.add_part("bc");
  EXPECT_NE(one.finish_hex(), other.finish_hex());
}

}  // namespace
}  // namespace hearth::base
