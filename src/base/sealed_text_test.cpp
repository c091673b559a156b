#include "base/sealed_text.h"

#include <gtest/gtest.h>

namespace hearth::base {
namespace {

TEST(SealedText, ComesBackWithItsVersion) {
  const std::string text = seal("hearth-thing", 3, "body\nof lines\n");
  EXPECT_TRUE(text.starts_with("hearth-thing 3 sha256:"));
  const auto back = unseal("hearth-thing", text);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->version, 3U);
  EXPECT_EQ(back->body, "body\nof lines\n");
}

TEST(SealedText, AnyFlippedBitIsDamageAndNeverANewerVersion) {
  const std::string text = seal("hearth-thing", 1, "body");
  for (std::size_t at = 0; at < text.size() * 8; ++at) {
    std::string flipped = text;
    flipped[at / 8] = static_cast<char>(flipped[at / 8] ^ (1 << (at % 8)));
    const auto back = unseal("hearth-thing", flipped);
    ASSERT_FALSE(back) << at;
    EXPECT_EQ(back.error().code, ErrorCode::corrupt);
  }
}

TEST(SealedText, EveryTruncationIsDamage) {
  const std::string text = seal("hearth-thing", 1, "body");
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(unseal("hearth-thing", std::string_view(text).substr(0, size))) << size;
}

TEST(SealedText, AnotherKindAndVersionZeroAreRefused) {
  EXPECT_FALSE(unseal("hearth-thin", seal("hearth-thing", 1, "body")));
  EXPECT_FALSE(unseal("hearth-things", seal("hearth-thing", 1, "body")));
  EXPECT_EQ(unseal("hearth-thing", seal("hearth-thing", 0, "body")).error().message, "version 0 does not exist");
}

}  // namespace
}  // namespace hearth::base
