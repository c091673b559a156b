#include "http/ollama_answer.h"

#include <gmock/gmock.h>

#include "base/text.h"

namespace hearth::http {
namespace {

using testing::SizeIs;
using Json = nlohmann::ordered_json;
using namespace std::chrono_literals;

constexpr base::Wall kNow{1'700'000'000s};
const OllamaAnswer::Figures kFigures{.total = 5ms, .load = 2ms, .context = {}};

std::string event(const char* json) { return "data: " + std::string(json) + "\n\n"; }
const std::string kEnd =
    event(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})") +
    event(
        R"({"choices":[],"timings":{"cache_n":3,"prompt_n":2,"prompt_ms":1.5,"predicted_n":7,"predicted_ms":2.25}})") +
    "data: [DONE]\n\n";

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  for (const auto line : base::split(text, '\n')) {
    if (!line.empty()) lines.push_back(Json::parse(line));
  }
  return lines;
}

// All that a client gets for these events.
std::vector<Json> answered(OllamaAnswer& answer, const std::string& events) {
  std::string out;
  for (const char byte : events)
    answer.feed(std::string_view(&byte, 1), kNow, out);
  EXPECT_TRUE(answer.complete());
  out += answer.finish(kNow, kFigures).value();
  EXPECT_EQ(out.find("\n\n"), std::string::npos) << "a blank line breaks clients";
  return lines_of(out);
}

TEST(OllamaAnswer, StreamsALineForEachPiece) {
  OllamaAnswer answer(OllamaCall::chat, "m", true);
  const auto lines =
      answered(answer, event(R"({"choices":[],"prompt_progress":{"total":5}})") +
                           event(R"({"choices":[{"index":0,"delta":{"role":"assistant","content":null}}]})") +
                           event(R"({"choices":[{"index":0,"delta":{"content":"Hel"}}]})") +
                           event(R"({"choices":[{"index":0,"delta":{"content":"lo"}}]})") + kEnd);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(
      lines[0],
      Json::parse(
          R"({"model":"m","created_at":"2023-11-14T22:13:20.000Z","message":{"role":"assistant","content":"Hel"},"done":false})"));
  EXPECT_EQ(
      lines[2],
      Json::parse(
          R"({"model":"m","created_at":"2023-11-14T22:13:20.000Z","message":{"role":"assistant","content":""},"done":true,
      "done_reason":"stop","total_duration":5000000,"load_duration":2000000,"prompt_eval_count":5,"prompt_eval_duration":1500000,
      "eval_count":7,"eval_duration":2250000})"));
  EXPECT_TRUE(answer.prefill_began() && answer.first_token());
  EXPECT_EQ(answer.text(), "Hello");
}

TEST(OllamaAnswer, PutsAWholeAnswerTogether) {
  OllamaAnswer answer(OllamaCall::generate, "m", false);
  const auto lines = answered(
      answer, event(R"({"choices":[{"index":0,"delta":{"reasoning_content":"Hm"}}]})") +
                  event(R"({"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a"}]}}]})") +
                  event(R"({"choices":[{"index":0,"delta":{"content":"b"},"logprobs":{"content":[{"token":"b"}]}}]})") +
                  kEnd);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0]["response"], "ab");
  EXPECT_EQ(lines[0]["thinking"], "Hm");
  EXPECT_EQ(lines[0]["logprobs"], Json::parse(R"([{"token":"a"},{"token":"b"}])"));
  EXPECT_FALSE(lines[0].contains("message"));
}

TEST(OllamaAnswer, EmptyThinkingIsLeftOut) {
  OllamaAnswer answer(OllamaCall::chat, "m", true);
  for (const auto& line :
       answered(answer, event(R"({"choices":[{"delta":{"content":"a","reasoning_content":""}}]})") + kEnd)) {
    EXPECT_FALSE(line["message"].contains("thinking"));
    EXPECT_TRUE(line["message"]["content"].is_string());
  }
}

const std::string kCalls =
    event(
        R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"light","arguments":""}}]}}]})") +
    event(R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"on\":"}}]}}]})") +
    event(
        R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"true}"}},{"index":1,"id":"call_2","function":{"name":"noop","arguments":"{}"}}]}}]})");

TEST(OllamaAnswer, ToolCallsGoOutWholeBeforeTheLastLine) {
  OllamaAnswer answer(OllamaCall::chat, "m", true);
  const auto lines = answered(
      answer, kCalls + event(R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})") + "data: [DONE]\n\n");
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0]["done"], false);
  EXPECT_EQ(lines[0]["message"]["tool_calls"],
            Json::parse(R"([{"function":{"index":0,"name":"light","arguments":{"on":true}},"id":"call_1"},
                            {"function":{"index":1,"name":"noop","arguments":{}},"id":"call_2"}])"));
  EXPECT_EQ(lines[1]["done_reason"], "stop");
  EXPECT_FALSE(lines[1]["message"].contains("tool_calls"));
}

TEST(OllamaAnswer, ToolCallsOfAWholeAnswerAreInItsMessage) {
  OllamaAnswer answer(OllamaCall::chat, "m", false);
  const auto lines = answered(answer, kCalls + kEnd);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0]["message"]["tool_calls"], SizeIs(2));
  EXPECT_EQ(lines[0]["done"], true);
}

TEST(OllamaAnswer, AToolCallThatBreaksOffIsAnError) {
  OllamaAnswer answer(OllamaCall::chat, "m", true);
  std::string out;
  answer.feed(
      event(
          R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"light","arguments":"{\"on\":"}}]}}]})") +
          kEnd,
      kNow, out);
  EXPECT_FALSE(answer.finish(kNow, kFigures));
}

TEST(OllamaAnswer, ABoundOnTheAnswerIsItsReason) {
  OllamaAnswer answer(OllamaCall::generate, "m", true);
  EXPECT_EQ(answered(answer, event(R"({"choices":[{"text":"a","finish_reason":"length"}]})") + "data: [DONE]\n\n")
                .back()["done_reason"],
            "length");
}

TEST(OllamaAnswer, TheEnginesOwnFormEndsWithStop) {
  OllamaAnswer answer(OllamaCall::generate, "m", false);
  const auto lines = answered(
      answer, event(R"({"content":"x","stop":false})") +
                  event(R"({"content":"","stop":true,"stop_type":"limit","timings":{"prompt_n":1,"predicted_n":1}})"));
  EXPECT_EQ(lines[0]["response"], "x");
  EXPECT_EQ(lines[0]["done_reason"], "length");
  EXPECT_EQ(lines[0]["eval_count"], 1);
}

TEST(OllamaAnswer, AnErrorOfTheEngineIsKept) {
  OllamaAnswer answer(OllamaCall::chat, "m", true);
  std::string out;
  answer.feed(event(R"({"error":{"code":500,"message":"out of memory"}})"), kNow, out);
  EXPECT_EQ(answer.error(), "out of memory");
  EXPECT_TRUE(out.empty());
}

TEST(OllamaAnswer, NothingAskedIsOneObject) {
  const OllamaAnswer chat(OllamaCall::chat, "m", true);
  EXPECT_EQ(
      Json::parse(chat.nothing_asked("load", kNow, kFigures)),
      Json::parse(
          R"({"model":"m","created_at":"2023-11-14T22:13:20.000Z","message":{"role":"assistant","content":""},"done":true,
                            "done_reason":"load","total_duration":5000000,"load_duration":2000000})"));
  const OllamaAnswer generate(OllamaCall::generate, "m", true);
  EXPECT_EQ(Json::parse(generate.nothing_asked("unload", kNow, {}))["response"], "");
}

TEST(OllamaAnswer, BrokenBytesStayJson) {
  OllamaAnswer answer(OllamaCall::generate, "m\xff", true);
  EXPECT_EQ(answered(answer, event(R"({"choices":[{"text":"a"}]})") + kEnd).size(), 2U);
}

}  // namespace
}  // namespace hearth::http
