#include "http/relay_body.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hearth::http {
namespace {

TEST(RelayBody, AStreamGoesOnAsWrittenPlusProgress) {
  const auto plan = plan_relay(Endpoint::chat, R"(  {"model":"A","stream":true,"temperature":0.10,"messages":[]})");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->model.text(), "a");
  EXPECT_TRUE(plan->client_streams);
  EXPECT_EQ(plan->upstream, R"(  {"return_progress":true,"model":"A","stream":true,"temperature":0.10,"messages":[]})");
}

TEST(RelayBody, AClientThatSetsProgressIsLeftAlone) {
  const std::string body = R"({"model":"a","stream":true,"return_progress":false})";
  const auto plan = plan_relay(Endpoint::chat, body);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->client_progress);
  EXPECT_EQ(plan->upstream, body);
}

TEST(RelayBody, AWholeAnswerIsAskedOfTheEngineAsAStream) {
  const auto plan = plan_relay(Endpoint::completions, R"({"model":"a","stream":null,"prompt":"x","seed":7})");
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->client_streams);
  const auto upstream = nlohmann::json::parse(plan->upstream);
  EXPECT_EQ(upstream["stream"], true);
  EXPECT_EQ(upstream["stream_options"]["include_usage"], true);
  EXPECT_EQ(upstream["seed"], 7);
}

TEST(RelayBody, EmbeddingsAreLeftAlone) {
  const std::string body = R"({"model":"a","input":"x"})";
  EXPECT_EQ(plan_relay(Endpoint::embeddings, body)->upstream, body);
}

TEST(RelayBody, LogProbabilitiesOfAWholeAnswerAreNotAskedAsAStream) {
  const std::string body = R"({"model":"a","logprobs":true})";
  EXPECT_EQ(plan_relay(Endpoint::chat, body)->upstream, body);
  EXPECT_NE(plan_relay(Endpoint::chat, R"({"model":"a","logprobs":false})")->upstream.find("\"stream\":true"),
            std::string::npos);
}

TEST(RelayBody, RefusesBadBodiesInASentence) {
  for (const char* body : {"", "nonsense", "[1]", "\"x\"", "{}", R"({"model":5})", R"({"model":"../etc"})",
                           R"({"model":"a","stream":"yes"})", "{\"model\":\"a\",\"x\":\"\xff\"}"}) {
    const auto plan = plan_relay(Endpoint::chat, body);
    ASSERT_FALSE(plan) << body;
    EXPECT_EQ(plan.error().code, base::ErrorCode::bad_request);
    EXPECT_EQ(plan.error().message.find('\n'), std::string::npos);
  }
}

TEST(RelayBody, RefusesDeepNesting) {
  const std::string deep = "{\"model\":\"a\",\"x\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  EXPECT_FALSE(plan_relay(Endpoint::chat, deep));
}

TEST(RelayBody, KeepAliveIsHearthsOwnAndDoesNotGoOn) {
  for (const char* stream : {"true", "false"}) {
    const auto plan = plan_relay(
        Endpoint::chat, std::string(R"({"model":"m","keep_alive":"10m","messages":[],"stream":)") + stream + "}");
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->keep_alive->span, std::chrono::minutes(10));
    EXPECT_FALSE(plan->upstream.contains("keep_alive")) << plan->upstream;
    EXPECT_TRUE(plan->upstream.contains(R"("messages":[])"));
  }
  EXPECT_FALSE(plan_relay(Endpoint::embeddings, R"({"model":"m","keep_alive":-1,"input":"x"})")
                   .value()
                   .upstream.contains("keep_alive"));
  EXPECT_FALSE(plan_relay(Endpoint::chat, R"({"model":"m","keep_alive":null})").value().keep_alive);
  EXPECT_FALSE(plan_relay(Endpoint::chat, R"({"model":"m","keep_alive":"300"})"));
}

}  // namespace
}  // namespace hearth::http
