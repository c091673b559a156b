#include "http/relay_body.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "domain/json_text.h"
#include "http/body_json.h"
#include "http/keep_alive_field.h"

namespace hearth::http {
namespace {

// Keeps the client's order of keys.
using Json = nlohmann::ordered_json;
using base::ErrorCode;

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
  auto json = parse_body(body);
  if (!json) return base::pass(json);
  auto model = model_of(*json);
  if (!model) return base::pass(model);
  auto stream = flag_of(*json, "stream");
  if (!stream) return base::pass(stream);
  auto keep_alive = keep_alive_in(*json);
  if (!keep_alive) return base::pass(keep_alive);
  if (json->erase("keep_alive") > 0) body = domain::text_of(*json);

  RelayBody plan{
      .model = *model, .client_streams = *stream, .client_progress = false, .upstream = {}, .keep_alive = *keep_alive};
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
