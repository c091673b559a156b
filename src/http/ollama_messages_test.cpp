#include "http/ollama_messages.h"

#include <gtest/gtest.h>

namespace hearth::http {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPng =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

Json turned(const char* messages) { return chat_messages_of(Json::parse(messages)).value(); }

TEST(OllamaMessages, TextGoesOnAsItIs) {
  EXPECT_EQ(
      turned(
          R"([{"role": "System", "content": "Be brief."}, {"role": "user", "content": "hi"}, {"role": "assistant"}])"),
      Json::parse(R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"},
                            {"role": "assistant", "content": ""}])"));
}

TEST(OllamaMessages, ThinkingIsReasoning) {
  EXPECT_EQ(turned(R"([{"role": "assistant", "content": "4", "thinking": "2+2"}])")[0]["reasoning_content"], "2+2");
}

TEST(OllamaMessages, ArgumentsBecomeTextAndResultsAnswerInOrder) {
  const Json messages = turned(R"([
    {"role": "assistant", "content": "", "tool_calls": [
      {"function": {"index": 0, "name": "light", "arguments": {"room": "kitchen", "on": true}}},
      {"function": {"name": "heat", "arguments": "{\"t\": 20}"}},
      {"id": "mine", "type": "function", "function": {"name": "noop"}}]},
    {"role": "tool", "content": "{}", "tool_name": "light"},
    {"role": "tool", "content": "done", "tool_call_id": "mine"},
    {"role": "tool", "content": "ok"},
    {"role": "tool", "content": "too many"}])");
  const Json& calls = messages[0]["tool_calls"];
  EXPECT_EQ(calls[0]["function"]["arguments"], R"({"room":"kitchen","on":true})");
  EXPECT_EQ(calls[1]["function"]["arguments"], R"({"t": 20})");
  EXPECT_EQ(calls[2]["function"]["arguments"], "{}");
  EXPECT_EQ(calls[0]["type"], "function");
  EXPECT_EQ(messages[1]["tool_call_id"], calls[0]["id"]);
  EXPECT_EQ(messages[1]["name"], "light");
  EXPECT_EQ(messages[2]["tool_call_id"], "mine");
  EXPECT_EQ(messages[3]["tool_call_id"], calls[1]["id"]);
  EXPECT_FALSE(messages[4].contains("tool_call_id"));
}

TEST(OllamaMessages, ImagesBecomePartsOfTheirKind) {
  const Json content = turned(
      (R"([{"role": "user", "content": "what?", "images": [")" + std::string(kPng) + "\"]}]").c_str())[0]["content"];
  EXPECT_EQ(content[0]["image_url"]["url"], "data:image/png;base64," + std::string(kPng));
  EXPECT_EQ(content[1], Json::parse(R"({"type": "text", "text": "what?"})"));
  const Json sound = content_of("", Json::array({"UklGRiQAAABXQVZFZm10IBAAAAABAAEA"})).value();
  EXPECT_EQ(sound[0]["input_audio"]["format"], "wav");
  EXPECT_EQ(content_of("", Json::array({"/9j/4AAQSkZJRgABAQAAAQABAAD="})).value()[0]["image_url"]["url"],
            "data:image/jpeg;base64,/9j/4AAQSkZJRgABAQAAAQABAAD=");
  EXPECT_EQ(content_of("x", Json::array()).value(), "x");
}

TEST(OllamaMessages, WhatCannotBeReadIsRefusedByNumber) {
  for (const char* messages :
       {R"({"role": "user"})", R"([{"role": "user", "content": 1}])", R"([{"role": "robot"}])", R"(["hi"])", R"([{}])",
        R"([{"role": "user", "images": "x"}])", R"([{"role": "user", "images": ["no base64!"]}])",
        R"([{"role": "user", "images": [""]}])", R"([{"role": "user", "images": ["aGVsbG8gd29ybGQ="]}])",
        R"([{"role": "user", "images": ["UklGRiQAAABXRUJQVlA4IBgAAAAwAQCd"]}])", R"([{"role": "user", "images": [7]}])",
        R"([{"role": "assistant", "tool_calls": {}}])", R"([{"role": "assistant", "tool_calls": [{}]}])",
        R"([{"role": "assistant", "tool_calls": [{"function": {"name": "x", "arguments": 1}}]}])"}) {
    const auto read = chat_messages_of(Json::parse(messages));
    ASSERT_FALSE(read) << messages;
    EXPECT_EQ(read.error().code, base::ErrorCode::bad_request);
  }
  EXPECT_NE(chat_messages_of(Json::parse(R"([{"role": "user"}, {"role": 1}])")).error().message.find("message 2"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth::http
