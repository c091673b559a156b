#include "http/answer_builder.h"

#include "domain/json_text.h"

namespace hearth::http {
namespace {

using Json = nlohmann::ordered_json;

// Adds a text field of `from`, if it is one, to `text`.
void append_text(std::string& text, const Json& from, const char* key) {
  const auto found = from.find(key);
  if (found != from.end() && found->is_string()) text += found->get_ref<const std::string&>();
}

std::size_t index_of(const Json& object) {
  const auto found = object.find("index");
  return found != object.end() && found->is_number_unsigned() ? found->get<std::size_t>() : 0;
}

void keep_first(Json& slot, const Json& from, const char* key) {
  if (slot.is_null() && from.contains(key)) slot = from[key];
}

void append_logprobs(Json& all, const Json& piece) {
  if (!piece.is_object() || !piece.contains("content") || !piece["content"].is_array()) return;
  if (all.is_null()) all = {{"content", Json::array()}};
  for (const auto& token : piece["content"])
    all["content"].push_back(token);
}

}  // namespace

void AnswerBuilder::feed(std::string_view bytes) {
  splitter_.feed(bytes, [this](std::string_view event) { take_event(data_of(event)); });
}

void AnswerBuilder::take_event(std::string_view data) {
  if (data == "[DONE]") done_ = true;
  const Json event = Json::parse(data, nullptr, false);
  if (!event.is_object()) return;
  if (event.contains("error")) {
    error_ = event["error"];
    return;
  }
  if (event.contains("choices") && event["choices"].is_array()) {
    for (const auto& choice : event["choices"])
      take_choice(choice);
  }
  if (head_.is_null()) head_ = event;
  keep_first(usage_, event, "usage");
  if (event.contains("timings")) timings_ = event["timings"];  // each chunk's cover all up to it
}

void AnswerBuilder::take_choice(const Json& chunk) {
  if (!chunk.is_object()) return;
  Choice& choice = choices_[index_of(chunk)];
  const Json& delta = chunk.contains("delta") ? chunk["delta"] : chunk;
  if (delta.is_object()) {
    append_text(choice.content, delta, endpoint_ == Endpoint::chat ? "content" : "text");
    append_text(choice.reasoning, delta, "reasoning_content");
    if (delta.contains("tool_calls") && delta["tool_calls"].is_array()) {
      for (const auto& piece : delta["tool_calls"])
        take_tool_call(choice, piece);
    }
  }
  if (chunk.contains("logprobs")) append_logprobs(choice.logprobs, chunk["logprobs"]);
  if (chunk.contains("finish_reason") && !chunk["finish_reason"].is_null())
    choice.finish_reason = chunk["finish_reason"];
}

// The first piece of a call brings id, type and name; later ones bring more of the arguments.
void AnswerBuilder::take_tool_call(Choice& choice, const Json& piece) {
  if (!piece.is_object()) return;
  Json& call = choice.tool_calls[index_of(piece)];
  if (call.is_null()) call = {{"type", "function"}, {"function", {{"name", ""}, {"arguments", ""}}}, {"id", nullptr}};
  keep_first(call["id"], piece, "id");
  const auto function = piece.find("function");
  if (function == piece.end() || !function->is_object()) return;
  append_text(call["function"]["name"].get_ref<std::string&>(), *function, "name");
  append_text(call["function"]["arguments"].get_ref<std::string&>(), *function, "arguments");
}

AnswerBuilder::Json AnswerBuilder::message_of(const Choice& choice) const {
  Json message = {{"role", "assistant"}, {"content", choice.content}};
  if (!choice.reasoning.empty()) message["reasoning_content"] = choice.reasoning;
  if (choice.tool_calls.empty()) return message;
  if (choice.content.empty()) message["content"] = nullptr;
  for (const auto& [index, call] : choice.tool_calls)
    message["tool_calls"].push_back(call);
  return message;
}

AnswerBuilder::Json AnswerBuilder::choice_json(std::size_t index, const Choice& choice) const {
  if (endpoint_ != Endpoint::chat) {
    return {{"text", choice.content},
            {"index", index},
            {"logprobs", choice.logprobs},
            {"finish_reason", choice.finish_reason}};
  }
  Json json = {{"finish_reason", choice.finish_reason}, {"index", index}, {"message", message_of(choice)}};
  if (!choice.logprobs.is_null()) json["logprobs"] = choice.logprobs;
  return json;
}

std::string AnswerBuilder::build_error() const {
  const Json answer = {{"error", *error_}};
  return domain::text_of(answer);
}

std::string AnswerBuilder::build() const {
  Json answer = {{"choices", Json::array()}};
  for (const auto& [index, choice] : choices_)
    answer["choices"].push_back(choice_json(index, choice));
  const auto copy = [&](const char* key) {
    if (head_.contains(key)) answer[key] = head_[key];
  };
  copy("created");
  copy("model");
  copy("system_fingerprint");
  answer["object"] = endpoint_ == Endpoint::chat ? "chat.completion" : "text_completion";
  if (!usage_.is_null()) answer["usage"] = usage_;
  copy("id");
  if (!timings_.is_null()) answer["timings"] = timings_;
  return domain::text_of(answer);
}

}  // namespace hearth::http
