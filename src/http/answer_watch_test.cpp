#include "http/answer_watch.h"

#include <gtest/gtest.h>

namespace hearth::http {
namespace {

const std::string kProgress =
    R"(data: {"choices":[{"delta":{"role":"assistant","content":null}}],"prompt_progress":{"total":9,"cache":0,"processed":0,"time_ms":0}})"
    "\n\n";
const std::string kRole = R"(data: {"choices":[{"delta":{"role":"assistant","content":null}}]})"
                          "\n\n";
const std::string kToken = R"(data: {"choices":[{"delta":{"content":"Hi \"prompt_progress\": \"timings\":{"}}]})"
                           "\n\n";
const std::string kLast =
    R"(data: {"choices":[{"delta":{},"finish_reason":"stop"}],"timings":{"cache_n":3,"prompt_n":6,"prompt_ms":1.5,"predicted_n":2,"predicted_ms":4.25}})"
    "\n\n";
const std::string kDone = "data: [DONE]\n\n";

std::string pass(AnswerWatch& watch, std::string_view bytes) {
  std::string out;
  watch.feed(bytes, out);
  return out;
}

TEST(AnswerWatch, TakesOutOnlyProgressEvents) {
  AnswerWatch watch(false);
  EXPECT_EQ(pass(watch, kProgress + kRole + kToken + kLast + kDone), kRole + kToken + kLast + kDone);
}

TEST(AnswerWatch, LeavesProgressToAClientThatAsked) {
  AnswerWatch watch(true);
  EXPECT_EQ(pass(watch, kProgress + kToken), kProgress + kToken);
}

TEST(AnswerWatch, EverySplitPassesTheSameBytes) {
  const std::string all = kProgress + kRole + kToken + kLast + kDone;
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    AnswerWatch watch(false);
    const std::string first = pass(watch, std::string_view(all).substr(0, cut));
    EXPECT_EQ(first + pass(watch, std::string_view(all).substr(cut)), kRole + kToken + kLast + kDone);
    EXPECT_TRUE(watch.timings());
  }
}

TEST(AnswerWatch, SaysWhenPrefillAndTheFirstTokenCame) {
  AnswerWatch watch(false);
  EXPECT_FALSE(watch.prefill_began());
  (void)pass(watch, kProgress);
  EXPECT_TRUE(watch.prefill_began());
  (void)pass(watch, kRole);
  EXPECT_FALSE(watch.first_token()) << "the role alone is no token";
  (void)pass(watch, kToken);
  EXPECT_TRUE(watch.first_token());
}

TEST(AnswerWatch, TextThatOnlyMentionsTimingsIsNotTimings) {
  AnswerWatch watch(false);
  (void)pass(watch, kToken);
  EXPECT_FALSE(watch.timings());
  (void)pass(watch, kLast);
  ASSERT_TRUE(watch.timings());
  EXPECT_EQ(watch.timings()->cached_tokens, 3);
  EXPECT_EQ(watch.timings()->prompt_tokens, 6);
  EXPECT_DOUBLE_EQ(watch.timings()->generated_ms, 4.25);
}

TEST(AnswerWatch, CompletionsTextIsAToken) {
  AnswerWatch watch(false);
  (void)pass(watch, "data: {\"choices\":[{\"text\":\"Hi\",\"index\":0}]}\n\n");
  EXPECT_TRUE(watch.first_token());
}

TEST(AnswerWatch, KeepsTheTextOfAnErrorEvent) {
  AnswerWatch watch(false);
  const std::string event = "data: {\"error\":{\"code\":500,\"message\":\"context full\"}}\n\n";
  EXPECT_EQ(pass(watch, event), event);
  EXPECT_EQ(watch.error(), "context full");
}

TEST(AnswerWatch, BytesThatAreNoEventsStillPass) {
  AnswerWatch watch(false);
  std::string out = pass(watch, "not an event at all");
  watch.finish(out);
  EXPECT_EQ(out, "not an event at all");
}

}  // namespace
}  // namespace hearth::http
