#include "http/answer_watch.h"

#include <nlohmann/json.hpp>

#include "domain/json_text.h"

namespace hearth::http {
namespace {

using nlohmann::json;

json parse(std::string_view text) { return json::parse(text, nullptr, false); }

bool is_text(const json& value) { return value.is_string() && !value.get_ref<const std::string&>().empty(); }

bool says_something(const json& part) {
  if (!part.is_object()) return false;
  const auto has = [&](const char* key) { return part.contains(key) && is_text(part[key]); };
  return has("content") || has("reasoning_content") || has("text") || part.contains("tool_calls");
}

// Chat chunks carry `delta`, completions `text`.
bool carries_token(const json& event) {
  if (!event.contains("choices") || !event["choices"].is_array()) return false;
  for (const auto& choice : event["choices"]) {
    if (says_something(choice.contains("delta") ? choice["delta"] : choice)) return true;
  }
  return false;
}

template <typename T>
T number(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<T>() : T{};
}

std::string error_text(const json& error) {
  if (error.is_object() && error.contains("message") && error["message"].is_string()) return error["message"];
  return domain::text_of(error);
}

}  // namespace

std::optional<domain::EngineTimings> timings_in(std::string_view text) {
  const json answer = parse(text);
  if (!answer.is_object() || !answer.contains("timings") || !answer["timings"].is_object()) return std::nullopt;
  const json& timings = answer["timings"];
  return domain::EngineTimings{.cached_tokens = number<std::int64_t>(timings, "cache_n"),
                               .prompt_tokens = number<std::int64_t>(timings, "prompt_n"),
                               .prompt_ms = number<double>(timings, "prompt_ms"),
                               .generated_tokens = number<std::int64_t>(timings, "predicted_n"),
                               .generated_ms = number<double>(timings, "predicted_ms")};
}

void AnswerWatch::feed(std::string_view bytes, std::string& out) {
  splitter_.feed(bytes, [&](std::string_view event) {
    if (watch(event)) out += event;
  });
}

std::optional<domain::EngineTimings> AnswerWatch::timings() const { return timings_in(last_timed_); }

// True when the event goes on to the client. JSON is parsed only until the first token; afterwards a substring decides,
// which cannot stand inside a JSON string because its quotes would be escaped there.
bool AnswerWatch::watch(std::string_view event) {
  const std::string_view data = data_of(event);
  const auto mentions = [data](std::string_view key) { return data.find(key) != std::string_view::npos; };
  if (mentions("\"prompt_progress\":") && note_progress(data)) return keeps_progress_;
  if (!first_token_ && data.starts_with('{')) first_token_ = carries_token(parse(data));
  if (mentions("\"timings\":{")) last_timed_ = data;
  if (mentions("\"error\":")) {
    const json answer = parse(data);
    if (answer.is_object() && answer.contains("error")) error_ = error_text(answer["error"]);
  }
  return true;
}

bool AnswerWatch::note_progress(std::string_view data) {
  const json event = parse(data);
  if (!event.is_object() || !event.contains("prompt_progress")) return false;
  prefill_began_ = true;
  return true;
}

}  // namespace hearth::http
