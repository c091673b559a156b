#include "client/answer_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace hearth::client {
namespace {

using nlohmann::json;
constexpr std::size_t kLongestMessage = 2000;

std::optional<base::ErrorCode> code_named(std::string_view name) {
  using enum base::ErrorCode;
  constexpr std::array kCodes = {model_not_found, does_not_fit, queue_full,    loading,   pinned_conflict,
                                 bad_request,     unauthorized, engine_failed, corrupt,   not_found,
                                 already_exists,  in_use,       permission,    no_space,  io,
                                 timeout,         cancelled,    unsupported,   too_large, internal};
  const auto found = std::ranges::find(kCodes, name, &base::name_of);
  return found == kCodes.end() ? std::nullopt : std::optional(*found);
}

base::ErrorCode code_of_status(int status) {
  using enum base::ErrorCode;
  switch (status) {
    case 400:
      return bad_request;
    case 401:
    case 403:
      return unauthorized;
    case 404:
      return not_found;
    case 405:
    case 501:
      return unsupported;
    case 408:
    case 504:
      return timeout;
    case 409:
      return pinned_conflict;
    case 413:
      return too_large;
    case 429:
      return queue_full;
    case 502:
      return engine_failed;
    case 503:
      return loading;
    case 507:
      return does_not_fit;
    default:
      return internal;
  }
}

std::string text_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Waits beyond a day say nothing to a program that a person is waiting for.
std::optional<std::chrono::milliseconds> seconds_of(const std::optional<std::string>& header) {
  int seconds = 0;
  if (!header || std::from_chars(header->data(), header->data() + header->size(), seconds).ec != std::errc())
    return std::nullopt;
  if (seconds < 0 || seconds > 86400) return std::nullopt;
  return std::chrono::seconds(seconds);
}

}  // namespace

base::Error error_from_answer(int status, std::string_view body, const std::optional<std::string>& retry_after) {
  base::Error error{code_of_status(status), {}, seconds_of(retry_after)};
  const json parsed = json::parse(body, nullptr, false);
  if (parsed.is_object() && parsed.contains("error")) {
    const json& told = parsed["error"];
    if (told.is_string()) error.message = told.get<std::string>();
    if (told.is_object()) {
      error.message = text_at(told, "message");
      error.code = code_named(text_at(told, "code")).value_or(error.code);
    }
  }
  error.message = base::printable(error.message, kLongestMessage);
  if (error.message.empty()) error.message = fmt::format("the server answered with status {} and no reason", status);
  return error;
}

}  // namespace hearth::client
