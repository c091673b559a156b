#include "engine/packed_key.h"

#include <gmock/gmock.h>

#include <functional>
#include <set>

namespace hearth::engine {
namespace {

using testing::MatchesRegex;

PackedKeyParts small_parts() {
  return {.content_digest = "sha256:" + std::string(64, 'a'),
          .engine_version = "0.7.0",
          .engine_build = "11669",
          .backends = {"cpu-zen4", "cpu-haswell"},
          .flags = {"-ngl", "0"},
          .environment = {{"GGML_X", "1"}}};
}

TEST(PackedKey, IsStableAndLegible) {
  const auto key = make_packed_key(small_parts());
  EXPECT_EQ(key, make_packed_key(small_parts()));
  EXPECT_THAT(key, MatchesRegex("a{64}-11669-[0-9a-f]{16}"));
}

TEST(PackedKey, EveryPartChangesIt) {
  const std::vector<std::function<void(PackedKeyParts&)>> changes = {
      [](auto&) {},
      [](auto& parts) { parts.content_digest.back() = 'b'; },
      [](auto& parts) { parts.engine_version = "0.7.1"; },
      [](auto& parts) { parts.engine_build = "11670"; },
      [](auto& parts) { parts.engine_build.reset(); },
      [](auto& parts) { parts.engine_build = ""; },
      [](auto& parts) { parts.backends.pop_back(); },
      [](auto& parts) { parts.backends.push_back("vulkan"); },
      [](auto& parts) {
        parts.flags = {"-ngl", "1"};
      },
      [](auto& parts) { parts.flags = {"-ngl0"}; },
      [](auto& parts) {
        parts.flags = {"0", "-ngl"};
      },
      [](auto& parts) { parts.flags.clear(); },
      [](auto& parts) { parts.flags.push_back("GGML_X"); },
      [](auto& parts) {
        parts.environment = {{"GGML_X1", ""}};
      },
      [](auto& parts) { parts.environment.clear(); },
  };
  std::set<std::string> keys;
  for (const auto& change : changes) {
    auto parts = small_parts();
    change(parts);
    keys.insert(make_packed_key(parts));
  }
  EXPECT_EQ(keys.size(), changes.size());
}

TEST(PackedKey, TheOrderInWhichBackendsWereListedDoesNot) {
  auto parts = small_parts();
  std::swap(parts.backends.front(), parts.backends.back());
  EXPECT_EQ(make_packed_key(parts), make_packed_key(small_parts()));
  parts.content_digest = std::string(64, 'a');
  EXPECT_EQ(make_packed_key(parts), make_packed_key(small_parts()));
}

TEST(PackedKey, IsOneSafePathComponentWhateverComesIn) {
  for (const std::string& text :
       {std::string(), std::string("../../x"), std::string("a b\n\0c", 6), std::string(500, '/')}) {
    const PackedKeyParts parts{.content_digest = text, .engine_version = text, .engine_build = text};
    const auto key = make_packed_key(parts);
    EXPECT_LE(key.size(), 98U);
    EXPECT_EQ(key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"),
              std::string::npos)
        << key;
    EXPECT_NE(key.front(), '.');
  }
}

}  // namespace
}  // namespace hearth::engine
