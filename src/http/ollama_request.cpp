#include "http/ollama_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "http/body_json.h"
#include "http/keep_alive_field.h"
#include "http/ollama_messages.h"
#include "http/ollama_options.h"

namespace hearth::http {
namespace {

using Json = nlohmann::ordered_json;
using base::ErrorCode;
using Wish = OllamaRequest::Wish;

constexpr std::string_view kLatest = ":latest";
constexpr std::size_t kMostTokens = 1U << 20;  // of an earlier context

std::unexpected<base::Error> refuse(std::string why) { return base::fail(ErrorCode::bad_request, std::move(why)); }

// Null counts as absent.
const Json& field(const Json& body, const char* key) {
  static const Json kNull;
  const auto found = body.find(key);
  return found == body.end() ? kNull : *found;
}

base::Result<std::string> text_in(const Json& body, const char* key) {
  const Json& value = field(body, key);
  if (value.is_null()) return std::string();
  if (value.is_string()) return value.get<std::string>();
  return refuse(fmt::format("\"{}\" must be a text", key));
}

base::Result<bool> flag_in(const Json& body, const char* key, bool otherwise) {
  const Json& value = field(body, key);
  if (value.is_null()) return otherwise;
  if (value.is_boolean()) return value.get<bool>();
  return refuse(fmt::format("\"{}\" must be true or false", key));
}

// Fills a request from a body, field by field; the first fault ends it.
class RequestReader {
 public:
  RequestReader(OllamaCall call, const Json& body) : body_(body) { request_.call = call; }

  base::Result<OllamaRequest> read() && {
    const auto read_in_turn = {&RequestReader::read_common, &RequestReader::read_kind, &RequestReader::read_format,
                               &RequestReader::read_think, &RequestReader::read_logprobs};
    for (const auto step : read_in_turn) {
      if (auto done = (this->*step)(); !done) return base::pass(done);
      if (request_.wish != Wish::answer) return std::move(request_);
    }
    Json& upstream = request_.upstream;
    upstream["stream"] = true;
    upstream["return_progress"] = true;
    if (is_chat_) upstream["stream_options"] = {{"include_usage", true}};
    return std::move(request_);
  }

 private:
  base::Status read_common() {
    auto model = text_in(body_, "model");
    if (!model) return base::pass(model);
    if (model->empty()) return refuse("model is required");
    request_.model = *model;
    auto stream = flag_in(body_, "stream", true);
    if (!stream) return base::pass(stream);
    request_.stream = *stream;
    auto keep_alive = keep_alive_in(body_);
    if (!keep_alive) return base::pass(keep_alive);
    request_.keep_alive = *keep_alive;
    auto options = read_ollama_options(field(body_, "options"));
    if (!options) return base::pass(options);
    request_.upstream = std::move(options->fields);
    request_.context = options->context;
    request_.repeat_over_context = options->repeat_over_context;
    return {};
  }

  base::Status read_kind() { return request_.call == OllamaCall::chat ? read_chat() : read_generate(); }

  // Nothing is asked: the model is only to come, or to go.
  void ask_nothing() {
    const bool unload = request_.keep_alive && request_.keep_alive->is_unload();
    request_.wish = unload ? Wish::unload : Wish::load;
  }

  base::Status read_chat() {
    const Json& messages = field(body_, "messages");
    if (messages.is_null() || (messages.is_array() && messages.empty())) {
      ask_nothing();
      return {};
    }
    auto turned = chat_messages_of(messages);
    if (!turned) return base::pass(turned);
    use_chat(std::move(*turned));
    const Json& tools = field(body_, "tools");
    if (!tools.is_null() && !tools.is_array()) return refuse("\"tools\" must be an array");
    if (!tools.empty()) request_.upstream["tools"] = tools;
    return {};
  }

  void use_chat(Json messages) {
    is_chat_ = true;
    request_.path = "/v1/chat/completions";
    request_.upstream["messages"] = std::move(messages);
  }

  base::Status read_generate() {
    auto prompt = text_in(body_, "prompt");
    if (!prompt) return base::pass(prompt);
    auto system = text_in(body_, "system");
    if (!system) return base::pass(system);
    auto suffix = text_in(body_, "suffix");
    if (!suffix) return base::pass(suffix);
    auto model_template = text_in(body_, "template");
    if (!model_template) return base::pass(model_template);
    auto raw = flag_in(body_, "raw", false);
    if (!raw) return base::pass(raw);
    if (auto prior = read_prior(); !prior) return prior;
    const bool more = !system->empty() || !model_template->empty() || !request_.prior_tokens.empty();
    if (*raw && more) return refuse("raw mode does not support template, system, or context");
    if (!model_template->empty()) {
      return refuse(
          "a template of the request's own is not supported, the model's is used; leave \"template\" out, or send the "
          "whole prompt with \"raw\": true");
    }
    if (prompt->empty() && suffix->empty()) {
      ask_nothing();
      return {};
    }
    if (!suffix->empty()) return use_infill(std::move(*prompt), std::move(*suffix));
    if (*raw) return use_raw(std::move(*prompt));
    return use_prompt(*prompt, *system);
  }

  base::Status read_prior() {
    const Json& prior = field(body_, "context");
    if (prior.is_null()) return {};
    if (!prior.is_array() || prior.size() > kMostTokens)
      return refuse("\"context\" must be the array of an earlier answer");
    for (const auto& token : prior) {
      if (!token.is_number_integer()) return refuse("\"context\" must be an array of integers");
      request_.prior_tokens.push_back(token.get<std::int64_t>());
    }
    return {};
  }

  base::Status use_infill(std::string prompt, std::string suffix) {
    request_.path = "/infill";
    request_.upstream["input_prefix"] = std::move(prompt);
    request_.upstream["input_suffix"] = std::move(suffix);
    return refuse_images("a prompt with a suffix");
  }

  base::Status use_raw(std::string prompt) {
    request_.path = "/v1/completions";
    request_.upstream["prompt"] = std::move(prompt);
    return refuse_images("a raw prompt");
  }

  base::Status refuse_images(std::string_view with) const {
    if (field(body_, "images").empty()) return {};
    return refuse(fmt::format("images are not supported with {}; leave them out, or ask /api/chat", with));
  }

  base::Status use_prompt(const std::string& prompt, const std::string& system) {
    auto content = content_of(prompt, field(body_, "images"));
    if (!content) return base::pass(content);
    const bool text_only = content->is_string();
    if (!text_only && !request_.prior_tokens.empty()) return refuse("images are not supported with \"context\"");
    request_.returns_context = text_only;
    Json messages = Json::array();
    if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
    messages.push_back({{"role", "user"}, {"content", std::move(*content)}});
    use_chat(std::move(messages));
    return {};
  }

  base::Status read_format() {
    const Json& format = field(body_, "format");
    if (format.is_null() || format == "") return {};
    if (format != "json" && !format.is_object())
      return refuse("invalid format; send \"json\" or a JSON schema as an object");
    const bool any = !format.is_object();
    if (!is_chat_)
      request_.upstream["json_schema"] = any ? Json::object() : format;
    else if (any)
      request_.upstream["response_format"] = {{"type", "json_object"}};
    else
      request_.upstream["response_format"] = {{"type", "json_schema"}, {"json_schema", {{"schema", format}}}};
    return {};
  }

  base::Status read_think() {
    const Json& think = field(body_, "think");
    if (think.is_null()) return {};
    constexpr std::array<std::string_view, 4> kLevels = {"low", "medium", "high", "max"};
    const bool level =
        think.is_string() && std::ranges::find(kLevels, think.get_ref<const std::string&>()) != kLevels.end();
    if (!think.is_boolean() && !level)
      return refuse("invalid think value (must be \"high\", \"medium\", \"low\", \"max\", true, or false)");
    request_.thinks = level || think.get<bool>();
    if (!is_chat_) return {};
    Json arguments = {{"enable_thinking", request_.thinks}};
    // The engine's templates know three levels.
    if (level) request_.upstream["reasoning_effort"] = think == "max" ? Json("high") : think;
    request_.upstream["chat_template_kwargs"] = std::move(arguments);
    return {};
  }

  base::Status read_logprobs() {
    auto wanted = flag_in(body_, "logprobs", false);
    if (!wanted) return base::pass(wanted);
    const Json& top = field(body_, "top_logprobs");
    const bool fits = top.is_null() || (top.is_number_integer() && top >= 0 && top <= 20);
    if (!fits) return refuse("top_logprobs must be between 0 and 20");
    if (!*wanted) return {};
    if (is_chat_) {
      request_.upstream["logprobs"] = true;
      if (!top.is_null()) request_.upstream["top_logprobs"] = top;
    } else {
      request_.upstream["logprobs"] = top.is_null() ? Json(1) : top;
    }
    return {};
  }

  const Json& body_;
  OllamaRequest request_;
  bool is_chat_ = false;
};

void add_model(std::vector<domain::ModelId>& models, std::string_view name) {
  if (auto id = domain::ModelId::parse(name)) models.push_back(*id);
}

}  // namespace

base::Result<OllamaRequest> read_ollama_request(OllamaCall call, std::string_view body) {
  if (body.empty()) return refuse("missing request body");
  auto json = parse_body(body);
  if (!json) return base::pass(json);
  return RequestReader(call, *json).read();
}

std::vector<domain::ModelId> models_named(std::string_view name) {
  for (const std::string_view prefix : {"registry.ollama.ai/", "library/"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  std::vector<domain::ModelId> models;
  add_model(models, name);
  if (name.ends_with(kLatest)) {
    add_model(models, name.substr(0, name.size() - kLatest.size()));
  } else if (!name.contains(':')) {
    add_model(models, std::string(name) + std::string(kLatest));
  }
  return models;
}

std::string ollama_name(const domain::ModelId& id) {
  return id.text().contains(':') ? id.text() : id.text() + std::string(kLatest);
}

}  // namespace hearth::http
