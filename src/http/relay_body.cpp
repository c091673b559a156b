#include "http/relay_body.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace hearth::http {
namespace {

// Keeps the client's order of keys.
using Json = nlohmann::ordered_json;
using base::ErrorCode;

base::Result<Json> parse_object(std::string_view body) {
  // Deeper nesting than any request has; printing such a value again would be recursive.
  constexpr int kDeepest = 200;
  bool too_deep = false;
  const auto watch_depth = [&too_deep](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kDeepest;
    return !too_deep;
  };
  try {
    Json json = Json::parse(body, watch_depth);
    if (too_deep)
      return base::fail(ErrorCode::bad_request,
                        fmt::format("the request body is nested deeper than {} levels; flatten it", kDeepest));
    if (json.is_object()) return json;
    return base::fail(
        ErrorCode::bad_request,
        fmt::format("the request body is a JSON {}, not an object; send {{\"model\": …}}", json.type_name()));
  } catch (const Json::parse_error& error) {
    return base::fail(
        ErrorCode::bad_request,
        fmt::format("the request body is not JSON (at byte {}); send a JSON object with Content-Type application/json",
                    error.byte));
  }
}

base::Result<domain::ModelId> model_of(const Json& json) {
  const auto model = json.find("model");
  if (model == json.end() || !model->is_string()) {
    return base::fail(ErrorCode::bad_request,
                      "the request names no model; set \"model\" to one that `hearth list` shows");
  }
  return domain::ModelId::parse(model->get_ref<const std::string&>());
}

// A null counts as absent, as it does at the engine.
base::Result<bool> flag_of(const Json& json, const char* key) {
  const auto flag = json.find(key);
  if (flag == json.end() || flag->is_null()) return false;
  if (flag->is_boolean()) return flag->get<bool>();
  return base::fail(ErrorCode::bad_request, fmt::format("\"{}\" must be true or false", key));
}

bool wants_logprobs(const Json& json) {
  const auto logprobs = json.find("logprobs");
  return logprobs != json.end() && !logprobs->is_null() && *logprobs != false && *logprobs != 0;
}

std::string with_progress(std::string body) {
  body.insert(body.find('{') + 1, "\"return_progress\":true,");
  return body;
}

std::string as_stream(Json json) {
  json["stream"] = true;
  json["stream_options"] = {{"include_usage", true}};
  json["return_progress"] = true;
  return json.dump();
}

}  // namespace

std::string_view path_of(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::chat:
      return "/v1/chat/completions";
    case Endpoint::completions:
      return "/v1/completions";
    case Endpoint::embeddings:
      return "/v1/embeddings";
  }
  return "";
}

base::Result<RelayBody> plan_relay(Endpoint endpoint, std::string body) {
  auto json = parse_object(body);
  if (!json) return base::pass(json);
  auto model = model_of(*json);
  if (!model) return base::pass(model);
  auto stream = flag_of(*json, "stream");
  if (!stream) return base::pass(stream);

  RelayBody plan{.model = *model, .client_streams = *stream, .client_progress = false, .upstream = {}};
  if (endpoint == Endpoint::embeddings) plan.client_streams = false;
  if (endpoint == Endpoint::embeddings || (!plan.client_streams && wants_logprobs(*json))) {
    plan.upstream = std::move(body);
  } else if (*stream) {
    plan.client_progress = json->contains("return_progress");
    plan.upstream = plan.client_progress ? std::move(body) : with_progress(std::move(body));
  } else {
    plan.upstream = as_stream(std::move(*json));
  }
  return plan;
}

}  // namespace hearth::http
