#include "http/error_reply.h"

#include <algorithm>

#include "domain/json.h"
#include "domain/json_text.h"

namespace hearth::http {

using base::ErrorCode;

unsigned status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::model_not_found:
    case ErrorCode::not_found:
      return 404;
    case ErrorCode::does_not_fit:
    case ErrorCode::no_space:
      return 507;
    case ErrorCode::queue_full:
      return 429;
    case ErrorCode::loading:
      return 503;
    case ErrorCode::pinned_conflict:
    case ErrorCode::already_exists:
    case ErrorCode::in_use:
      return 409;
    case ErrorCode::bad_request:
      return 400;
    case ErrorCode::unauthorized:
      return 401;
    case ErrorCode::permission:
      return 403;
    case ErrorCode::engine_failed:
      return 502;
    case ErrorCode::too_large:
      return 413;
    case ErrorCode::timeout:
      return 408;
    case ErrorCode::unsupported:
      return 501;
    case ErrorCode::corrupt:
    case ErrorCode::io:
    case ErrorCode::cancelled:
    case ErrorCode::internal:
      return 500;
  }
  return 500;
}

namespace {

std::string_view openai_type(ErrorCode code) {
  const unsigned status = status_of(code);
  if (status == 401) return "authentication_error";
  if (status == 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

}  // namespace

std::string error_body(domain::Api api, const base::Error& error) {
  if (api == domain::Api::native) return domain::text_of(domain::to_json(error));
  if (api == domain::Api::ollama) {
    const domain::Json text = {{"error", error.message}};
    return domain::text_of(text);
  }
  const domain::Json body = {{"error",
                              {{"message", error.message},
                               {"type", openai_type(error.code)},
                               {"param", nullptr},
                               {"code", base::name_of(error.code)}}}};
  return domain::text_of(body);
}

std::optional<std::string> retry_after_of(const base::Error& error) {
  if (!error.retry_after) return std::nullopt;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(*error.retry_after).count();
  return std::to_string(std::max<long>(1, seconds));
}

}  // namespace hearth::http
