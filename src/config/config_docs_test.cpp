// docs/configuration.md and the reader say the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "config/config.h"

namespace hearth::config {
namespace {

std::string document() {
  std::ifstream stream(HEARTH_SOURCE_DIR "/docs/configuration.md");
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> toml_blocks(std::string_view text) {
  std::vector<std::string> blocks;
  for (auto at = text.find("```toml\n"); at != std::string_view::npos; at = text.find("```toml\n", at)) {
    at += 8;
    const auto end = text.find("```", at);
    blocks.emplace_back(text.substr(at, end - at));
  }
  return blocks;
}

TEST(ConfigurationDocument, ItsExamplesAreAcceptedAsWritten) {
  const auto blocks = toml_blocks(document());
  EXPECT_GE(blocks.size(), 2u);
  for (const auto& block : blocks) {
    const auto config = parse_config(block, "example");
    EXPECT_TRUE(config) << config.error().message << "\n" << block;
  }
}

TEST(ConfigurationDocument, ItsFirstExampleIsTheDefaults) {
  const auto home = [](const char* name) -> std::optional<std::string> {
    if (std::string_view(name) == "HOME") return "/home/ann";
    return std::nullopt;
  };
  const auto written = parse_config(toml_blocks(document()).at(0), "defaults", {}, home).value();
  const auto built_in = parse_config("", "", {}, home).value();
  EXPECT_EQ(written.server().listen, built_in.server().listen);
  EXPECT_EQ(written.server().data_dir, built_in.server().data_dir);
  EXPECT_EQ(written.server().api_key, built_in.server().api_key);
  EXPECT_EQ(written.server().allow_remote_without_key, built_in.server().allow_remote_without_key);
  EXPECT_EQ(written.server().max_body, built_in.server().max_body);
  EXPECT_EQ(written.server().stop_grace, built_in.server().stop_grace);
  EXPECT_EQ(written.engine().tier, built_in.engine().tier);
  EXPECT_EQ(written.engine().start_stall, built_in.engine().start_stall);
  EXPECT_EQ(written.engine().start_limit, built_in.engine().start_limit);
  const auto model = domain::ModelId::parse("any").value();
  EXPECT_EQ(written.effective_for(model).service_class, built_in.effective_for(model).service_class);
  EXPECT_EQ(written.effective_for(model).keep_alive, built_in.effective_for(model).keep_alive);
  EXPECT_EQ(written.residency().prewarm, built_in.residency().prewarm);
  EXPECT_TRUE(written.residency().schedules.empty());
  EXPECT_EQ(written.history().keep, built_in.history().keep);
}

TEST(ConfigurationDocument, HasARowForEveryKeyOfEverySection) {
  const std::string text = document();
  for (const auto& [section, keys] : all_keys()) {
    const auto heading = text.find("## `" + std::string(section) + "`");
    ASSERT_NE(heading, std::string::npos) << section;
    const auto part = text.substr(heading, text.find("\n## ", heading + 1) - heading);
    for (const auto key : keys)
      EXPECT_THAT(part, testing::HasSubstr("| `" + std::string(key) + "` |")) << section;
  }
}

}  // namespace
}  // namespace hearth::config
