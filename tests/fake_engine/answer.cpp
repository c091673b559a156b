#include "tests/fake_engine/answer.h"

#include <sstream>

namespace hearth::fake_engine {
namespace {

Json envelope(Kind kind, bool chunk, const std::string& alias, Json choice) {
  const bool chat = kind == Kind::chat;
  return {{"choices", Json::array({std::move(choice)})},
          {"created", 1700000000},
          {"id", chat ? "chatcmpl-fake" : "cmpl-fake"},
          {"model", alias},
          {"system_fingerprint", "fake"},
          {"object", !chat   ? "text_completion"
                     : chunk ? "chat.completion.chunk"
                             : "chat.completion"}};
}

Json delta(Json content, Json finish_reason = nullptr) {
  return {{"finish_reason", std::move(finish_reason)}, {"index", 0}, {"delta", std::move(content)}};
}

Json timings_json(const Timings& timings) {
  const auto per = [](double ms, int count) { return count > 0 ? ms / count : 0.0; };
  const auto rate = [](double ms, int count) { return ms > 0 ? count * 1000.0 / ms : 0.0; };
  const int steps = timings.generated - 1;
  return {{"cache_n", timings.cached},
          {"prompt_n", timings.evaluated},
          {"prompt_ms", timings.prompt_ms},
          {"prompt_per_token_ms", per(timings.prompt_ms, timings.evaluated)},
          {"prompt_per_second", rate(timings.prompt_ms, timings.evaluated)},
          {"predicted_n", timings.generated},
          {"predicted_ms", timings.generated_ms},
          {"predicted_per_token_ms", per(timings.generated_ms, steps)},
          {"predicted_per_second", rate(timings.generated_ms, steps)}};
}

Json usage_json(const Timings& timings) {
  const int prompt = timings.cached + timings.evaluated;
  return {{"completion_tokens", timings.generated},
          {"prompt_tokens", prompt},
          {"total_tokens", prompt + timings.generated},
          {"prompt_tokens_details", {{"cached_tokens", timings.cached}}}};
}

const char* finish_reason(const Question& question) { return question.cut_short ? "length" : "stop"; }

std::string prompt_text(const Json& body) {
  if (const auto prompt = body.find("prompt"); prompt != body.end() && prompt->is_string()) return *prompt;
  std::string text;
  for (const auto& message : body.value("messages", Json::array())) {
    if (!message.is_object()) continue;
    const auto content = message.find("content");
    text += message.value("role", "") + " ";
    if (content != message.end()) text += content->is_string() ? content->get<std::string>() : content->dump();
    text += " ";
  }
  return text;
}

int asked_tokens(const Json& body) {
  for (const char* name : {"max_completion_tokens", "max_tokens", "n_predict"}) {
    if (const auto value = body.find(name); value != body.end() && value->is_number_integer()) return *value;
  }
  return -1;
}

bool flag(const Json& object, const char* name) {
  const auto value = object.find(name);
  return value != object.end() && value->is_boolean() && value->get<bool>();
}

}  // namespace

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

Question understand(Kind kind, const Json& body, const Scenario& scenario) {
  Question question;
  question.kind = kind;
  question.stream = flag(body, "stream");
  question.return_progress = flag(body, "return_progress");
  question.include_usage = body.contains("stream_options") && flag(body["stream_options"], "include_usage");
  question.prompt = words_of(prompt_text(body));
  if (question.prompt.empty()) question.prompt.emplace_back("<s>");
  const int asked = asked_tokens(body);
  question.cut_short = asked >= 0 && asked < scenario.tokens;
  question.tokens = question.cut_short ? asked : scenario.tokens;
  return question;
}

std::string token_text(int nth) {
  if (nth == 1) return "Fake";
  return nth == 2 ? " answer" : " w" + std::to_string(nth);
}

Json progress_chunk(const Question& question, const std::string& alias, int cached, int processed, double ms) {
  Json choice = question.kind == Kind::chat ? delta({{"role", "assistant"}, {"content", nullptr}})
                                            : Json{{"text", ""}, {"index", 0}, {"finish_reason", nullptr}};
  auto chunk = envelope(question.kind, true, alias, std::move(choice));
  chunk["prompt_progress"] = {
      {"total", question.prompt.size()}, {"cache", cached}, {"processed", processed}, {"time_ms", ms}};
  return chunk;
}

Json role_chunk(const std::string& alias) {
  return envelope(Kind::chat, true, alias, delta({{"role", "assistant"}, {"content", nullptr}}));
}

Json token_chunk(const Question& question, const std::string& alias, int nth) {
  if (question.kind == Kind::chat) return envelope(Kind::chat, true, alias, delta({{"content", token_text(nth)}}));
  return envelope(Kind::completion, true, alias, {{"text", token_text(nth)}, {"index", 0}, {"finish_reason", nullptr}});
}

std::vector<Json> last_chunks(const Question& question, const std::string& alias, const Timings& timings) {
  std::vector<Json> chunks;
  if (question.kind == Kind::completion) {
    chunks.push_back(envelope(Kind::completion, true, alias,
                              {{"text", ""}, {"index", 0}, {"finish_reason", finish_reason(question)}}));
    chunks.back()["usage"] = usage_json(timings);
  } else {
    chunks.push_back(envelope(Kind::chat, true, alias, delta(Json::object(), finish_reason(question))));
    if (question.include_usage) {
      auto chunk = envelope(Kind::chat, true, alias, nullptr);
      chunk["choices"] = Json::array();
      chunk["usage"] = usage_json(timings);
      chunks.push_back(std::move(chunk));
    }
  }
  chunks.back()["timings"] = timings_json(timings);
  return chunks;
}

Json whole_answer(const Question& question, const std::string& alias, const Timings& timings) {
  std::string text;
  for (int nth = 1; nth <= timings.generated; ++nth)
    text += token_text(nth);
  Json choice = {{"finish_reason", finish_reason(question)}, {"index", 0}};
  if (question.kind == Kind::chat)
    choice["message"] = {{"role", "assistant"}, {"content", text}};
  else
    choice["text"] = text;
  auto answer = envelope(question.kind, false, alias, std::move(choice));
  answer["usage"] = usage_json(timings);
  answer["timings"] = timings_json(timings);
  return answer;
}

Json error_body(int code, const std::string& message, const std::string& type) {
  return {{"error", {{"code", code}, {"message", message}, {"type", type}}}};
}

}  // namespace hearth::fake_engine
