#include "keeper/prompt_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "domain/json_text.h"

namespace hearth::keeper {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepest = 100;

// What a template may read besides the messages.
constexpr std::array kTemplateKeys = {
    "tools",           "tool_choice",     "chat_template_kwargs", "parallel_tool_calls",
    "response_format", "json_schema",     "reasoning_format",     "reasoning_effort",
    "functions",       "enable_thinking", "chat_template",        "add_generation_prompt"};
constexpr std::array kOwnWays = {"id_slot", "lora"};

Json parsed(std::string_view body) {
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= kDeepest; };
  return Json::parse(body, shallow, false);
}

bool present(const Json& json, const char* key) {
  const auto value = json.find(key);
  return value != json.end() && !value->is_null();
}

bool goes_its_own_way(const Json& json) {
  if (std::ranges::any_of(kOwnWays, [&](const char* key) { return present(json, key); })) return true;
  if (present(json, "n") && json["n"] != 1) return true;
  return present(json, "cache_prompt") && json["cache_prompt"] != true;
}

bool is_text(const Json& message) {
  if (!message.is_object()) return false;
  const auto content = message.find("content");
  if (content == message.end() || content->is_null() || content->is_string()) return true;
  return content->is_array() && std::ranges::all_of(*content, [](const Json& part) {
           return part.is_object() && part.value("type", Json()) == "text";
         });
}

std::optional<std::string> chat_text(const Json& json) {
  const auto messages = json.find("messages");
  if (messages == json.end() || !messages->is_array() || !std::ranges::all_of(*messages, is_text)) return std::nullopt;
  std::string text;
  for (const char* key : kTemplateKeys) {
    if (present(json, key)) text += fmt::format("{}={}\n", key, domain::text_of(json[key]));
  }
  for (const auto& message : *messages)
    text += domain::text_of(message) + "\n";
  return text;
}

}  // namespace

std::optional<std::string> prompt_text(std::string_view path, std::string_view body) {
  if (body.size() > kLargestPromptBody) return std::nullopt;
  const Json json = parsed(body);
  if (!json.is_object() || goes_its_own_way(json)) return std::nullopt;
  if (path == "/v1/chat/completions") return chat_text(json);
  if (path != "/v1/completions" || !present(json, "prompt") || !json["prompt"].is_string()) return std::nullopt;
  return json["prompt"].get<std::string>();
}

std::string with_slot(std::string body, unsigned slot) {
  return body.insert(body.find('{') + 1, fmt::format("\"id_slot\":{},", slot));
}

std::string without_reuse(std::string_view path, std::string body) {
  if (!path.ends_with("/completions") && !path.ends_with("/completion") && !path.ends_with("/infill")) return body;
  if (body.find('{') == std::string::npos) return body;
  constexpr std::string_view kKey = "\"cache_prompt\"";
  if (body.find(kKey) == std::string::npos) return body.insert(body.find('{') + 1, R"("cache_prompt":false,)");
  Json json = parsed(body);
  if (!json.is_object()) return body;
  json["cache_prompt"] = false;
  return domain::text_of(json);
}

}  // namespace hearth::keeper
