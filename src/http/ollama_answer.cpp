#include "http/ollama_answer.h"

#include <array>

#include "domain/json_text.h"
#include "http/answer_watch.h"

namespace hearth::http {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostToolCalls = 1024;

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string error_text(const Json& error) {
  if (error.is_string()) return error.get<std::string>();
  if (error.is_object() && error.contains("message") && error["message"].is_string()) return error["message"];
  return domain::text_of(error);
}

// The first choice of a chunk, or null.
const Json& choice_of(const Json& event) {
  static const Json kNull;
  const auto choices = event.find("choices");
  if (choices == event.end() || !choices->is_array() || choices->empty() || !choices->front().is_object()) return kNull;
  return choices->front();
}

Json logprobs_of(const Json& choice) {
  const auto logprobs = choice.find("logprobs");
  if (logprobs == choice.end() || !logprobs->is_object() || !logprobs->contains("content")) return nullptr;
  return (*logprobs)["content"];
}

std::int64_t nanoseconds(double ms) { return static_cast<std::int64_t>(ms * 1e6); }

}  // namespace

std::string json_line(const Json& json) { return domain::text_of(json) + "\n"; }

std::string ollama_instant(base::Wall instant) { return base::rfc3339(instant); }

void OllamaAnswer::feed(std::string_view bytes, base::Wall now, std::string& out) {
  splitter_.feed(bytes, [&](std::string_view event) { take_event(data_of(event), now, out); });
}

void OllamaAnswer::take_event(std::string_view data, base::Wall now, std::string& out) {
  if (data == "[DONE]") done_ = true;
  const Json event = Json::parse(data, nullptr, false);
  if (!event.is_object()) return;
  if (event.contains("error")) {
    error_ = error_text(event["error"]);
    return;
  }
  if (event.contains("prompt_progress")) prefill_began_ = true;
  if (event.contains("timings")) timings_ = timings_in(data);
  say(piece_of(event), now, out);
}

// Three forms: a chat's delta, a completion's text, and the content of the engine's own endpoints.
OllamaAnswer::Piece OllamaAnswer::piece_of(const Json& event) {
  const Json& choice = choice_of(event);
  if (choice.is_null()) {
    if (event.value("stop", Json(false)) == true) done_ = true;
    if (text_at(event, "stop_type") == "limit") finish_reason_ = "length";
    return {.text = text_at(event, "content"), .thinking = {}, .logprobs = nullptr};
  }
  if (const std::string reason = text_at(choice, "finish_reason"); !reason.empty()) finish_reason_ = reason;
  Piece piece{.text = text_at(choice, "text"), .thinking = {}, .logprobs = logprobs_of(choice)};
  const auto delta = choice.find("delta");
  if (delta == choice.end() || !delta->is_object()) return piece;
  piece.text = text_at(*delta, "content");
  piece.thinking = text_at(*delta, "reasoning_content");
  if (delta->contains("tool_calls")) take_tool_calls((*delta)["tool_calls"]);
  return piece;
}

// The first piece of a call brings its name and id, later ones more of its arguments.
void OllamaAnswer::take_tool_calls(const Json& calls) {
  if (!calls.is_array()) return;
  first_token_ = true;
  for (const auto& call : calls) {
    if (!call.is_object()) continue;
    const auto index = call.value("index", Json(0));
    const std::size_t place = index.is_number_unsigned() ? index.get<std::size_t>() : 0;
    if (place >= kMostToolCalls) continue;
    if (tool_calls_.size() <= place) tool_calls_.resize(place + 1);
    ToolCall& into = tool_calls_[place];
    if (into.id.empty()) into.id = text_at(call, "id");
    const auto function = call.find("function");
    if (function == call.end() || !function->is_object()) continue;
    into.name += text_at(*function, "name");
    into.arguments += text_at(*function, "arguments");
  }
}

void OllamaAnswer::say(Piece piece, base::Wall now, std::string& out) {
  if (piece.text.empty() && piece.thinking.empty()) return;
  first_token_ = true;
  text_ += piece.text;
  if (stream_) {
    out += json_line(chunk(piece, now, false));
    return;
  }
  thinking_ += piece.thinking;
  if (!piece.logprobs.is_array()) return;
  for (const auto& token : piece.logprobs)
    logprobs_.push_back(token);
}

OllamaAnswer::Json OllamaAnswer::chunk(const Piece& piece, base::Wall now, bool done) const {
  Json json = {{"model", model_}, {"created_at", ollama_instant(now)}};
  if (call_ == OllamaCall::chat) {
    json["message"] = {{"role", "assistant"}, {"content", piece.text}};
    if (!piece.thinking.empty()) json["message"]["thinking"] = piece.thinking;
  } else {
    json["response"] = piece.text;
    if (!piece.thinking.empty()) json["thinking"] = piece.thinking;
  }
  json["done"] = done;
  if (piece.logprobs.is_array() && !piece.logprobs.empty()) json["logprobs"] = piece.logprobs;
  return json;
}

base::Result<OllamaAnswer::Json> OllamaAnswer::tool_calls_json() const {
  Json calls = Json::array();
  for (const auto& call : tool_calls_) {
    Json arguments = Json::parse(call.arguments.empty() ? "{}" : call.arguments, nullptr, false);
    if (!arguments.is_object()) {
      return base::fail(base::ErrorCode::internal,
                        "the model's call of the tool " + call.name + " broke off before its arguments were whole");
    }
    Json json = {{"function", {{"index", calls.size()}, {"name", call.name}, {"arguments", std::move(arguments)}}}};
    if (!call.id.empty()) json["id"] = call.id;
    calls.push_back(std::move(json));
  }
  return calls;
}

void OllamaAnswer::add_figures(Json& last, const Figures& figures) const {
  if (figures.context) last["context"] = *figures.context;
  last["total_duration"] = figures.total.count();
  last["load_duration"] = figures.load.count();
  if (!timings_) return;
  last["prompt_eval_count"] = timings_->cached_tokens + timings_->prompt_tokens;
  last["prompt_eval_duration"] = nanoseconds(timings_->prompt_ms);
  last["eval_count"] = timings_->generated_tokens;
  last["eval_duration"] = nanoseconds(timings_->generated_ms);
}

std::string OllamaAnswer::empty_line(base::Wall now) const { return json_line(chunk({}, now, false)); }

base::Result<std::string> OllamaAnswer::finish(base::Wall now, const Figures& figures) const {
  Piece whole;
  if (!stream_) whole = {.text = text_, .thinking = thinking_, .logprobs = logprobs_};
  Json last = chunk(whole, now, true);
  std::string lines;
  if (!tool_calls_.empty()) {
    auto calls = tool_calls_json();
    if (!calls) return base::pass(calls);
    Json with_calls = stream_ ? chunk({}, now, false) : std::move(last);
    (call_ == OllamaCall::chat ? with_calls["message"] : with_calls)["tool_calls"] = std::move(*calls);
    if (stream_)
      lines = json_line(with_calls);
    else
      last = std::move(with_calls);
  }
  last["done_reason"] = finish_reason_ == "length" ? "length" : "stop";
  add_figures(last, figures);
  return lines + json_line(last);
}

std::string OllamaAnswer::nothing_asked(std::string_view reason, base::Wall now, const Figures& figures) const {
  Json json = chunk({}, now, true);
  json["done_reason"] = reason;
  add_figures(json, figures);
  return json_line(json);
}

}  // namespace hearth::http
