#include "http/body_json.h"

#include <fmt/format.h>

namespace hearth::http {

using Json = nlohmann::ordered_json;
using base::ErrorCode;

base::Result<Json> parse_body(std::string_view body) {
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
  } catch (const Json::exception&) {
    return base::fail(ErrorCode::bad_request,
                      "the request body has a value that cannot be read, such as a number beyond 1e308; send numbers "
                      "that a double can hold");
  }
}

}  // namespace hearth::http
