#include "artifact/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::artifact {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

Manifest sample() {
  return {.id = *domain::ModelId::parse("qwen3-4b:q4_k_m"),
          .digest = sha256("model"),
          .bytes = 123'456'789'012,
          .mtime_ns = 1'700'000'000'123'456'789,
          .imported_at_ms = 1'700'000'000'123,
          .verified_at_ms = 1'700'000'000'456,
          .gguf = {.version = 3,
                   .architecture = "qwen3",
                   .name = "Qwen3 \"4B\" ä",
                   .parameters = 4'000'000'000,
                   .context_length = 40'960,
                   .chat_template = true}};
}

std::string with_head(std::string_view version, std::string_view body) {
  const std::string title = "hearth-manifest " + std::string(version);
  return title + " sha256:" + sha256(title + "\n" + std::string(body)).text() + "\n" + std::string(body);
}

TEST(Manifest, ComesBackAsItWent) {
  const auto decoded = decode_manifest(encode(sample()));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, sample());
}

TEST(Manifest, NoticesEveryFlippedBit) {
  const std::string good = encode(sample());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    const auto decoded = decode_manifest(bad);
    ASSERT_FALSE(decoded) << bit;
    EXPECT_EQ(decoded.error().code, ErrorCode::corrupt) << bit;
  }
}

TEST(Manifest, NoticesEveryTruncation) {
  const std::string good = encode(sample());
  for (std::size_t length = 0; length < good.size(); ++length) {
    const auto decoded = decode_manifest(good.substr(0, length));
    ASSERT_FALSE(decoded) << length;
    EXPECT_EQ(decoded.error().code, ErrorCode::corrupt);
  }
}

TEST(Manifest, RefusesANewerVersionWithoutCallingItDamaged) {
  const auto decoded = decode_manifest(with_head("2", "anything at all"));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::unsupported);
  EXPECT_THAT(decoded.error().message, HasSubstr("version 2"));
}

TEST(Manifest, TakesFieldsItDoesNotKnowAsAbsent) {
  const std::string text = encode(sample());
  std::string body = text.substr(text.find('\n') + 1);
  body.insert(1, "\"colour\": \"red\",");
  EXPECT_EQ(*decode_manifest(with_head("1", body)), sample());
}

TEST(Manifest, RefusesBodiesThatAreNotOne) {
  for (const std::string_view body :
       {"", "[]", "{}", "null", "{\"id\": 5}", "{\"id\": \"../x\", \"digest\": \"00\"}"}) {
    const auto decoded = decode_manifest(with_head("1", body));
    ASSERT_FALSE(decoded) << body;
    EXPECT_EQ(decoded.error().code, ErrorCode::corrupt) << body;
  }
}

}  // namespace
}  // namespace hearth::artifact
