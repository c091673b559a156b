#include "http/ollama_request.h"

#include <gmock/gmock.h>

namespace hearth::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;
using Wish = OllamaRequest::Wish;

OllamaRequest chat(const char* body) { return read_ollama_request(OllamaCall::chat, body).value(); }
OllamaRequest generate(const char* body) { return read_ollama_request(OllamaCall::generate, body).value(); }

TEST(OllamaRequest, AChatGoesToTheEnginesChat) {
  const auto request = chat(
      R"({"model": "Mini:latest", "messages": [{"role": "user", "content": "hi"}], "options": {"num_predict": 5, "num_ctx": 8192},
          "tools": [{"type": "function"}], "keep_alive": "10m"})");
  EXPECT_EQ(request.wish, Wish::answer);
  EXPECT_EQ(request.path, "/v1/chat/completions");
  EXPECT_EQ(request.model, "Mini:latest");
  EXPECT_TRUE(request.stream) << "Ollama streams unless told not to";
  EXPECT_EQ(request.context, 8192);
  EXPECT_EQ(request.keep_alive->span, std::chrono::minutes(10));
  EXPECT_EQ(request.upstream["messages"][0]["content"], "hi");
  EXPECT_EQ(request.upstream["n_predict"], 5);
  EXPECT_EQ(request.upstream["tools"].size(), 1U);
  EXPECT_EQ(request.upstream["stream"], true);
  EXPECT_EQ(request.upstream["return_progress"], true);
  EXPECT_FALSE(request.upstream.contains("keep_alive"));
  EXPECT_FALSE(request.upstream.contains("options"));
  EXPECT_FALSE(request.returns_context);
}

TEST(OllamaRequest, APromptIsAChatOfItsOwn) {
  const auto request =
      generate(R"({"model": "m", "prompt": "hi", "system": "Be brief.", "stream": false, "context": [1, 2]})");
  EXPECT_EQ(request.path, "/v1/chat/completions");
  EXPECT_EQ(request.upstream["messages"],
            Json::parse(R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}])"));
  EXPECT_FALSE(request.stream);
  EXPECT_TRUE(request.returns_context);
  EXPECT_THAT(request.prior_tokens, ElementsAre(1, 2));
}

TEST(OllamaRequest, ARawPromptIsSentAsItIs) {
  const auto request = generate(R"({"model": "m", "prompt": "<s>hi", "raw": true, "format": {"type": "object"}})");
  EXPECT_EQ(request.path, "/v1/completions");
  EXPECT_EQ(request.upstream["prompt"], "<s>hi");
  EXPECT_EQ(request.upstream["json_schema"], Json::parse(R"({"type": "object"})"));
  EXPECT_FALSE(request.returns_context);
}

TEST(OllamaRequest, ASuffixFillsInTheMiddle) {
  const auto request = generate(R"({"model": "m", "prompt": "def f(", "suffix": "return x"})");
  EXPECT_EQ(request.path, "/infill");
  EXPECT_EQ(request.upstream["input_prefix"], "def f(");
  EXPECT_EQ(request.upstream["input_suffix"], "return x");
}

TEST(OllamaRequest, NothingAskedIsALoadOrAnUnload) {
  EXPECT_EQ(generate(R"({"model": "m"})").wish, Wish::load);
  EXPECT_EQ(generate(R"({"model": "m", "prompt": ""})").wish, Wish::load);
  EXPECT_EQ(generate(R"({"model": "m", "prompt": "", "keep_alive": 0})").wish, Wish::unload);
  EXPECT_EQ(generate(R"({"model": "m", "keep_alive": "0"})").wish, Wish::unload);
  EXPECT_EQ(generate(R"({"model": "m", "keep_alive": -1})").wish, Wish::load);
  EXPECT_EQ(chat(R"({"model": "m"})").wish, Wish::load);
  EXPECT_EQ(chat(R"({"model": "m", "messages": [], "keep_alive": "0s"})").wish, Wish::unload);
  EXPECT_EQ(chat(R"({"model": "m", "messages": [{"role": "user"}], "keep_alive": 0})").wish, Wish::answer);
}

TEST(OllamaRequest, FormatBecomesAResponseFormat) {
  const auto format = [](const char* value) {
    const std::string body = R"({"model": "m", "messages": [{"role": "user"}], "format": )" + std::string(value) + "}";
    return chat(body.c_str()).upstream.value("response_format", Json());
  };
  EXPECT_EQ(format("\"json\""), Json::parse(R"({"type": "json_object"})"));
  EXPECT_EQ(format(R"({"type": "object"})"),
            Json::parse(R"({"type": "json_schema", "json_schema": {"schema": {"type": "object"}}})"));
  EXPECT_TRUE(format("\"\"").is_null());
  EXPECT_TRUE(format("null").is_null());
}

TEST(OllamaRequest, ThinkSwitchesTheTemplate) {
  const auto on = chat(R"({"model": "m", "messages": [{"role": "user"}], "think": true})");
  EXPECT_TRUE(on.thinks);
  EXPECT_EQ(on.upstream["chat_template_kwargs"]["enable_thinking"], true);
  const auto off = chat(R"({"model": "m", "messages": [{"role": "user"}], "think": false})");
  EXPECT_FALSE(off.thinks);
  EXPECT_EQ(off.upstream["chat_template_kwargs"]["enable_thinking"], false);
  EXPECT_EQ(chat(R"({"model": "m", "messages": [{"role": "user"}], "think": "max"})").upstream["reasoning_effort"],
            "high");
  EXPECT_FALSE(chat(R"({"model": "m", "messages": [{"role": "user"}]})").upstream.contains("chat_template_kwargs"));
}

TEST(OllamaRequest, LogprobsTakeTheFormOfTheEndpoint) {
  const auto whole = chat(R"({"model": "m", "messages": [{"role": "user"}], "logprobs": true, "top_logprobs": 3})");
  EXPECT_EQ(whole.upstream["logprobs"], true);
  EXPECT_EQ(whole.upstream["top_logprobs"], 3);
  EXPECT_EQ(generate(R"({"model": "m", "prompt": "x", "raw": true, "logprobs": true, "top_logprobs": 3})")
                .upstream["logprobs"],
            3);
}

TEST(OllamaRequest, RefusalsAreInOllamasWords) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "missing request body"},
      {"{", "not JSON"},
      {"{}", "model is required"},
      {R"({"model": ""})", "model is required"},
      {R"({"model": 1})", "\"model\" must be a text"},
      {R"({"model": "m", "keep_alive": "300"})", "keep_alive"},
      {R"({"model": "m", "keep_alive": true})", "keep_alive cannot be a boolean"},
      {R"({"model": "m", "stream": "yes"})", "\"stream\""},
      {R"({"model": "m", "prompt": "x", "raw": true, "system": "y"})",
       "raw mode does not support template, system, or context"},
      {R"({"model": "m", "prompt": "x", "raw": true, "context": [1]})",
       "raw mode does not support template, system, or context"},
      {R"({"model": "m", "prompt": "x", "template": "{{ .Prompt }}"})", "\"template\""},
      {R"({"model": "m", "prompt": "x", "format": "xml"})", "invalid format"},
      {R"({"model": "m", "prompt": "x", "think": 1})", "invalid think value"},
      {R"({"model": "m", "prompt": "x", "top_logprobs": 21})", "top_logprobs"},
      {R"({"model": "m", "prompt": "x", "context": ["a"]})", "\"context\""},
      {R"({"model": "m", "prompt": "x", "raw": true, "images": ["eA=="]})",
       "images are not supported with a raw prompt"},
      {R"({"model": "m", "prompt": "x", "options": {"top_k": "a"}})", "option \"top_k\" must be of type integer"},
  };
  for (const auto& [body, words] : cases) {
    const auto read = read_ollama_request(OllamaCall::generate, body);
    ASSERT_FALSE(read) << body;
    EXPECT_EQ(read.error().code, base::ErrorCode::bad_request);
    EXPECT_THAT(read.error().message, HasSubstr(words));
  }
}

TEST(OllamaNames, ATagMayBeLeftOutOrAdded) {
  const auto texts = [](std::string_view name) {
    std::vector<std::string> all;
    for (const auto& id : models_named(name))
      all.push_back(id.text());
    return all;
  };
  EXPECT_THAT(texts("mini"), ElementsAre("mini", "mini:latest"));
  EXPECT_THAT(texts("Mini:latest"), ElementsAre("mini:latest", "mini"));
  EXPECT_THAT(texts("mini:q4"), ElementsAre("mini:q4"));
  EXPECT_THAT(texts("registry.ollama.ai/library/mini"), ElementsAre("mini", "mini:latest"));
  EXPECT_THAT(texts("hf.co/some/body:Q4"), ElementsAre());
  EXPECT_THAT(texts("../etc/passwd"), ElementsAre());
  EXPECT_EQ(ollama_name(domain::ModelId::parse("mini").value()), "mini:latest");
  EXPECT_EQ(ollama_name(domain::ModelId::parse("mini:q4").value()), "mini:q4");
}

}  // namespace
}  // namespace hearth::http
