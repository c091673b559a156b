#include "artifact/card.h"

#include <gmock/gmock.h>

namespace hearth::artifact {
namespace {

using testing::ElementsAre;

Gguf gguf_with(std::map<std::string, GgufValue, std::less<>> metadata) {
  Gguf gguf;
  gguf.metadata = std::move(metadata);
  gguf.metadata.emplace("general.architecture", std::string("llama"));
  return gguf;
}

TEST(Card, CarriesTheKeysOfTheFile) {
  auto gguf = gguf_with({{"general.name", std::string("secret")},
                         {"llama.context_length", std::uint64_t{4096}},
                         {"llama.rope.freq_base", 10000.0},
                         {"tokenizer.ggml.add_bos_token", true},
                         {"tokenizer.ggml.tokens", GgufArray{GgufType::text, 32000}},
                         {"tokenizer.chat_template", std::string("{{ messages }}")}});
  gguf.tensors.push_back({.name = "a", .dimensions = {4, 4}, .elements = 16, .bytes = {}});
  const auto card = card_of(gguf);
  EXPECT_EQ(card.info["llama.context_length"], 4096);
  EXPECT_EQ(card.info["llama.rope.freq_base"], 10000.0);
  EXPECT_EQ(card.info["tokenizer.ggml.add_bos_token"], true);
  EXPECT_TRUE(card.info["tokenizer.ggml.tokens"].is_null());
  EXPECT_EQ(card.info["general.parameter_count"], 16);
  EXPECT_FALSE(card.info.contains("general.name"));
  EXPECT_FALSE(card.info.contains("tokenizer.chat_template"));
  EXPECT_EQ(card.chat_template, "{{ messages }}");
  EXPECT_THAT(card.capabilities, ElementsAre("completion"));
}

TEST(Card, TellsWhatTheModelCanDo) {
  const auto capabilities = [](std::map<std::string, GgufValue, std::less<>> metadata) {
    return card_of(gguf_with(std::move(metadata))).capabilities;
  };
  EXPECT_THAT(capabilities({{"tokenizer.chat_template", std::string("{% if tools %}{% if enable_thinking %}")}}),
              ElementsAre("completion", "tools", "thinking"));
  EXPECT_THAT(capabilities({{"tokenizer.chat_template",
                             std::string("{%- set reasoning_effort = 'medium' %}{{ message.thinking }}")}}),
              ElementsAre("completion", "thinking"))
      << "the template of gpt-oss";
  EXPECT_THAT(capabilities({{"llama.pooling_type", std::uint64_t{1}}}), ElementsAre("embedding"));
  EXPECT_THAT(capabilities({{"llama.vision.block_count", std::uint64_t{2}}}), ElementsAre("completion", "vision"));
  EXPECT_THAT(capabilities({{"tokenizer.ggml.fim_pre_token_id", std::uint64_t{2}}}),
              ElementsAre("completion", "insert"));
}

}  // namespace
}  // namespace hearth::artifact
