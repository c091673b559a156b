#include "http/ollama_messages.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "base/text.h"
#include "domain/json_text.h"

namespace hearth::http {
namespace {

using Json = nlohmann::ordered_json;
using base::ErrorCode;

struct Medium {
  bool sound = false;
  std::string_view type;  // "image/png", or the engine's word for a format of sound
};

bool is_base64(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
  };
  const auto end = text.find_last_not_of('=');
  const auto body = end == std::string_view::npos ? std::string_view{} : text.substr(0, end + 1);
  return !body.empty() && text.size() - body.size() <= 2 && std::ranges::all_of(body, fits);
}

// The first 12 bytes of what `base64` stands for.
std::string first_bytes(std::string_view base64) {
  std::array<unsigned char, 16> text{};
  std::array<unsigned char, 12> bytes{};
  text.fill('A');
  std::copy_n(base64.begin(), std::min(base64.size(), text.size()), text.begin());
  std::ranges::replace(text, '=', 'A');
  (void)EVP_DecodeBlock(bytes.data(), text.data(), static_cast<int>(text.size()));
  return {bytes.begin(), bytes.end()};
}

base::Result<Medium> medium_of(std::string_view base64) {
  if (!is_base64(base64))
    return base::fail(ErrorCode::bad_request, "an image is not base64; send its bytes so encoded");
  const std::string bytes = first_bytes(base64);
  if (bytes.starts_with("\x89PNG")) return Medium{false, "image/png"};
  if (bytes.starts_with("\xff\xd8\xff")) return Medium{false, "image/jpeg"};
  if (bytes.starts_with("GIF8")) return Medium{false, "image/gif"};
  if (bytes.starts_with("BM")) return Medium{false, "image/bmp"};
  if (bytes.starts_with("RIFF") && bytes.ends_with("WAVE")) return Medium{true, "wav"};
  if (bytes.starts_with("ID3") || bytes.starts_with("\xff\xfb")) return Medium{true, "mp3"};
  if (bytes.starts_with("RIFF") && bytes.ends_with("WEBP"))
    return base::fail(ErrorCode::bad_request, "the engine does not read WebP images; send PNG or JPEG");
  return base::fail(ErrorCode::bad_request, "an image is of a kind that the engine does not read; send PNG or JPEG");
}

base::Result<Json> part_of(const Json& image) {
  if (!image.is_string()) return base::fail(ErrorCode::bad_request, "\"images\" must be an array of base64 texts");
  const auto& base64 = image.get_ref<const std::string&>();
  const auto medium = medium_of(base64);
  if (!medium) return std::unexpected(medium.error());
  if (medium->sound)
    return Json{{"type", "input_audio"}, {"input_audio", {{"data", base64}, {"format", medium->type}}}};
  return Json{{"type", "image_url"}, {"image_url", {{"url", fmt::format("data:{};base64,{}", medium->type, base64)}}}};
}

// Turns messages one after the other; remembers which tool calls wait for their result.
class MessageReader {
 public:
  base::Result<Json> read(const Json& message) {
    if (!message.is_object()) return base::fail(ErrorCode::bad_request, "a message must be an object");
    auto role = text_in(message, "role");
    if (!role) return base::pass(role);
    *role = base::to_lower(*role);
    constexpr std::array<std::string_view, 4> kRoles = {"system", "user", "assistant", "tool"};
    if (std::ranges::find(kRoles, *role) == kRoles.end())
      return base::fail(ErrorCode::bad_request, "\"role\" must be system, user, assistant or tool");
    auto text = text_in(message, "content");
    if (!text) return base::pass(text);
    auto content = content_of(*text, message.contains("images") ? message["images"] : Json());
    if (!content) return base::pass(content);
    Json turned = {{"role", *role}, {"content", std::move(*content)}};
    auto thinking = text_in(message, "thinking");
    if (!thinking) return base::pass(thinking);
    if (!thinking->empty()) turned["reasoning_content"] = *thinking;
    if (*role == "tool") answer_call(message, turned);
    if (auto added = add_calls(message, turned); !added) return base::pass(added);
    return turned;
  }

 private:
  static base::Result<std::string> text_in(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return std::string();
    if (found->is_string()) return found->get<std::string>();
    return base::fail(ErrorCode::bad_request, fmt::format("\"{}\" must be a text", key));
  }

  void answer_call(const Json& message, Json& turned) {
    std::string id = message.value("tool_call_id", Json("")).is_string() ? message.value("tool_call_id", "") : "";
    if (id.empty() && !waiting_.empty()) id = waiting_.front();
    std::erase(waiting_, id);
    if (!id.empty()) turned["tool_call_id"] = id;
    if (message.contains("tool_name") && message["tool_name"].is_string()) turned["name"] = message["tool_name"];
  }

  base::Status add_calls(const Json& message, Json& turned) {
    const auto calls = message.find("tool_calls");
    if (calls == message.end() || calls->is_null()) return {};
    if (!calls->is_array()) return base::fail(ErrorCode::bad_request, "\"tool_calls\" must be an array");
    for (const auto& call : *calls) {
      auto added = call_of(call);
      if (!added) return base::pass(added);
      turned["tool_calls"].push_back(std::move(*added));
    }
    return {};
  }

  base::Result<Json> call_of(const Json& call) {
    const auto wrong = [] {
      return base::fail(ErrorCode::bad_request,
                        "a tool call must be {\"function\": {\"name\": …, \"arguments\": {…}}}");
    };
    if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) return wrong();
    const Json& function = call["function"];
    if (!function.contains("name") || !function["name"].is_string()) return wrong();
    const Json arguments = function.contains("arguments") ? function["arguments"] : Json::object();
    // Old clients send a text where an object belongs.
    if (!arguments.is_object() && !arguments.is_string() && !arguments.is_null()) return wrong();
    const bool has_id = call.contains("id") && call["id"].is_string();
    const std::string id = has_id ? call["id"].get<std::string>() : fmt::format("call_{}", ++made_);
    waiting_.push_back(id);
    const std::string text = arguments.is_string() ? arguments.get<std::string>()
                             : arguments.is_null() ? std::string("{}")
                                                   : domain::text_of(arguments);
    return Json{{"id", id}, {"type", "function"}, {"function", {{"name", function["name"]}, {"arguments", text}}}};
  }

  std::deque<std::string> waiting_;  // ids of calls without a result, oldest first
  int made_ = 0;
};

}  // namespace

base::Result<Json> content_of(const std::string& text, const Json& images) {
  if (images.is_null() || (images.is_array() && images.empty())) return Json(text);
  if (!images.is_array()) return base::fail(ErrorCode::bad_request, "\"images\" must be an array of base64 texts");
  Json parts = Json::array();
  for (const auto& image : images) {
    auto part = part_of(image);
    if (!part) return base::pass(part);
    parts.push_back(std::move(*part));
  }
  if (!text.empty()) parts.push_back({{"type", "text"}, {"text", text}});
  return parts;
}

base::Result<Json> chat_messages_of(const Json& messages) {
  if (!messages.is_array()) return base::fail(ErrorCode::bad_request, "\"messages\" must be an array");
  MessageReader reader;
  Json turned = Json::array();
  for (const auto& message : messages) {
    auto one = reader.read(message);
    if (!one) return base::pass(one, fmt::format("message {}", turned.size() + 1));
    turned.push_back(std::move(*one));
  }
  return turned;
}

}  // namespace hearth::http
