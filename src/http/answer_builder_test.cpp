#include "http/answer_builder.h"

#include <gtest/gtest.h>

namespace hearth::http {
namespace {

using nlohmann::json;

std::string event(const std::string& data) { return "data: " + data + "\n\n"; }

json built(AnswerBuilder& builder) { return json::parse(builder.build()); }

TEST(AnswerBuilder, PutsChatTextUsageAndTimingsTogether) {
  AnswerBuilder builder(Endpoint::chat);
  builder.feed(event(
      R"({"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":5,"id":"c1","model":"m","system_fingerprint":"f"})"));
  builder.feed(event(R"({"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]})"));
  builder.feed(event(R"({"choices":[{"index":0,"delta":{"content":"Hel"}}]})") +
               event(R"({"choices":[{"index":0,"delta":{"content":"lo"}}]})"));
  builder.feed(event(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"));
  builder.feed(event(R"({"choices":[],"usage":{"total_tokens":3},"timings":{"prompt_n":1}})"));
  EXPECT_FALSE(builder.complete());
  builder.feed(event("[DONE]"));
  ASSERT_TRUE(builder.complete());
  EXPECT_EQ(
      built(builder),
      json::parse(
          R"({"choices":[{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"Hello","reasoning_content":"hm"}}],
    "created":5,"model":"m","system_fingerprint":"f","object":"chat.completion","usage":{"total_tokens":3},"id":"c1","timings":{"prompt_n":1}})"));
}

TEST(AnswerBuilder, JoinsToolCallPieces) {
  AnswerBuilder builder(Endpoint::chat);
  builder.feed(event(
      R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"light","arguments":"{\"on"}}]}}]})"));
  builder.feed(
      event(R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\":1}"}}]}}]})"));
  builder.feed(event("[DONE]"));
  const json message = built(builder)["choices"][0]["message"];
  EXPECT_EQ(message["content"], nullptr);
  EXPECT_EQ(message["tool_calls"],
            json::parse(R"([{"type":"function","function":{"name":"light","arguments":"{\"on\":1}"},"id":"t1"}])"));
}

TEST(AnswerBuilder, KeepsChoicesApart) {
  AnswerBuilder builder(Endpoint::completions);
  builder.feed(event(R"({"choices":[{"index":1,"text":"b","logprobs":{"content":[{"id":2}]}}]})"));
  builder.feed(event(R"({"choices":[{"index":0,"text":"a"}]})"));
  builder.feed(
      event(R"({"choices":[{"index":1,"text":"B","logprobs":{"content":[{"id":3}]},"finish_reason":"length"}]})"));
  builder.feed(event("[DONE]"));
  const json choices = built(builder)["choices"];
  ASSERT_EQ(choices.size(), 2U);
  EXPECT_EQ(choices[0]["text"], "a");
  EXPECT_EQ(choices[1]["text"], "bB");
  EXPECT_EQ(choices[1]["logprobs"]["content"].size(), 2U);
}

TEST(AnswerBuilder, TheLastTimingsAreThoseOfTheWholeAnswer) {
  AnswerBuilder builder(Endpoint::chat);
  builder.feed(event(R"({"choices":[{"index":0,"delta":{"content":"a"}}],"timings":{"predicted_n":1}})"));
  builder.feed(event(R"({"choices":[{"index":0,"delta":{"content":"b"}}],"timings":{"predicted_n":2}})"));
  builder.feed(event(R"({"choices":[]})"));
  builder.feed(event("[DONE]"));
  EXPECT_EQ(built(builder)["timings"]["predicted_n"], 2);
}

TEST(AnswerBuilder, ReportsAnErrorInTheStream) {
  AnswerBuilder builder(Endpoint::chat);
  builder.feed(event(R"({"error":{"code":500,"message":"boom"}})"));
  ASSERT_TRUE(builder.error());
  EXPECT_EQ((*builder.error())["message"], "boom");
  EXPECT_FALSE(builder.complete());
}

TEST(AnswerBuilder, IgnoresShapesItDoesNotKnow) {
  AnswerBuilder builder(Endpoint::chat);
  for (const char* data :
       {"null", "[1]", R"({"choices":5})", R"({"choices":[3,null]})", R"({"choices":[{"delta":7}]})",
        R"({"choices":[{"delta":{"tool_calls":[1,{"function":2}]}}]})", R"({"choices":[{"index":-4,"delta":{}}]})"}) {
    builder.feed(event(data));
  }
  builder.feed(event("[DONE]"));
  EXPECT_TRUE(json::accept(builder.build()));
}

}  // namespace
}  // namespace hearth::http
