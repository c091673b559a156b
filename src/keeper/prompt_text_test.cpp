#include "keeper/prompt_text.h"

#include <gtest/gtest.h>

namespace hearth::keeper {
namespace {

constexpr std::string_view kChat = "/v1/chat/completions";

std::string text_of(std::string_view body, std::string_view path = kChat) {
  return prompt_text(path, body).value_or("(none)");
}

TEST(PromptText, APromptThatGoesOnBeginsWithTheOneBefore) {
  const std::string turn =
      text_of(R"({"messages":[{"role":"system","content":"S"},{"role":"user","content":"1"}],"temperature":0})");
  const std::string next = text_of(
      R"({"stream":true,"messages":[{"role":"system","content":"S"},{"role":"user","content":"1"},{"role":"assistant","content":"a"},{"role":"user","content":"2"}]})");
  EXPECT_TRUE(next.starts_with(turn));
}

TEST(PromptText, WhatATemplateReadsComesFirst) {
  const std::string plain = text_of(R"({"messages":[{"role":"user","content":"1"}]})");
  const std::string tools = text_of(R"({"messages":[{"role":"user","content":"1"}],"tools":[{"type":"function"}]})");
  EXPECT_NE(plain.front(), tools.front());
}

TEST(PromptText, LeavesAloneWhatIsNotOnlyText) {
  for (const auto* body :
       {"", "[]", "{}", R"({"messages":"x"})", R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})",
        R"({"messages":[],"id_slot":1})", R"({"messages":[],"n":2})", R"({"messages":[],"cache_prompt":false})",
        R"({"messages":[],"lora":[{"id":0,"scale":1}]})"})
    EXPECT_FALSE(prompt_text(kChat, body)) << body;
  EXPECT_TRUE(prompt_text(
      kChat, R"({"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],"n":1,"id_slot":null})"));
  EXPECT_FALSE(prompt_text("/v1/embeddings", R"({"input":"x"})"));
  EXPECT_FALSE(prompt_text(kChat, "{\"messages\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}"));
  EXPECT_FALSE(prompt_text(
      kChat, R"({"messages":[{"role":"user","content":")" + std::string(kLargestPromptBody, 'x') + "\"}]}"));
}

TEST(PromptText, ACompletionIsItsPrompt) {
  EXPECT_EQ(text_of(R"({"prompt":"once"})", "/v1/completions"), "once");
  EXPECT_FALSE(prompt_text("/v1/completions", R"({"prompt":[1,2]})"));
}

TEST(PromptText, TheSlotGoesInFront) { EXPECT_EQ(with_slot(R"({"prompt":"x"})", 3), R"({"id_slot":3,"prompt":"x"})"); }

TEST(PromptText, TheReuseOfWhatIsHeldIsForbidden) {
  EXPECT_EQ(without_reuse(kChat, R"({"prompt":"x"})"), R"({"cache_prompt":false,"prompt":"x"})");
  EXPECT_EQ(without_reuse("/infill", R"({"cache_prompt":true,"prompt":"x"})"),
            R"({"cache_prompt":false,"prompt":"x"})");
  EXPECT_EQ(without_reuse(kChat, R"({"prompt":"\"cache_prompt\""})"),
            R"({"cache_prompt":false,"prompt":"\"cache_prompt\""})");
  EXPECT_EQ(without_reuse("/v1/embeddings", R"({"input":"x"})"), R"({"input":"x"})");
  EXPECT_EQ(without_reuse(kChat, "nothing"), "nothing");
}

}  // namespace
}  // namespace hearth::keeper
