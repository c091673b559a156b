#include "http/ollama_options.h"

#include <gtest/gtest.h>

namespace hearth::http {
namespace {

using Json = nlohmann::ordered_json;

Json fields_of(const char* options) { return read_ollama_options(Json::parse(options)).value().fields; }

TEST(OllamaOptions, AlwaysSendsOllamasOwnDefaults) {
  const Json expected = {
      {"temperature", 0.8},      {"top_k", 40},           {"top_p", 0.9},        {"min_p", 0.0},
      {"typical_p", 1.0},        {"repeat_penalty", 1.0}, {"repeat_last_n", 64}, {"presence_penalty", 0.0},
      {"frequency_penalty", 0.0}};
  EXPECT_EQ(fields_of("null"), expected);
  EXPECT_EQ(fields_of("{}"), expected);
  EXPECT_EQ(fields_of(R"({"temperature": null})"), expected);
}

TEST(OllamaOptions, AreRenamedForTheEngine) {
  const Json fields = fields_of(
      R"({"temperature": 0, "seed": 42, "num_predict": 128, "num_keep": 4, "stop": ["a", "b"], "mirostat": 2, "top_k": 5.0})");
  EXPECT_EQ(fields["temperature"], 0);
  EXPECT_EQ(fields["seed"], 42);
  EXPECT_EQ(fields["n_predict"], 128);
  EXPECT_EQ(fields["n_keep"], 4);
  EXPECT_EQ(fields["stop"], Json::array({"a", "b"}));
  EXPECT_EQ(fields["mirostat"], 2);
  EXPECT_EQ(fields["top_k"], 5);
  EXPECT_FALSE(fields.contains("num_predict"));
}

TEST(OllamaOptions, WhatTheEngineRefusesIsPutIntoItsWords) {
  EXPECT_EQ(fields_of(R"({"num_predict": -2})")["n_predict"], -1);
  EXPECT_EQ(fields_of(R"({"num_predict": 0})")["n_predict"], -1);
  EXPECT_FALSE(fields_of(R"({"seed": -1})").contains("seed"));
  EXPECT_EQ(fields_of(R"({"stop": "x"})")["stop"], Json::array({"x"}));
  EXPECT_TRUE(read_ollama_options(Json{{"repeat_last_n", -1}}).value().repeat_over_context);
}

TEST(OllamaOptions, WhatTheConfigurationDecidesIsNotSent) {
  const auto read = read_ollama_options(
      Json{{"num_ctx", 8192}, {"num_gpu", 99}, {"use_mmap", true}, {"tfs_z", "old"}, {"vocab_only", 1}});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->context, 8192);
  EXPECT_EQ(read->fields, fields_of("{}"));
}

TEST(OllamaOptions, AWrongTypeIsNamed) {
  for (const auto& [options, word] : {std::pair{R"({"temperature": "hot"})", "number"},
                                      {R"({"num_ctx": "8k"})", "integer"},
                                      {R"({"use_mmap": 1})", "boolean"},
                                      {R"({"stop": [1]})", "array of strings"},
                                      {R"({"seed": 1e300})", "integer"},
                                      {"[]", "object"}}) {
    const auto read = read_ollama_options(Json::parse(options));
    ASSERT_FALSE(read) << options;
    EXPECT_EQ(read.error().code, base::ErrorCode::bad_request);
    EXPECT_NE(read.error().message.find(word), std::string::npos) << read.error().message;
  }
}

}  // namespace
}  // namespace hearth::http
