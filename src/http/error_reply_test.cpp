#include "http/error_reply.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hearth::http {
namespace {

using base::ErrorCode;
using nlohmann::json;

TEST(ErrorReply, StatusesAreThoseOfTheNativeApi) {
  const std::pair<ErrorCode, unsigned> table[] = {{ErrorCode::model_not_found, 404}, {ErrorCode::does_not_fit, 507},
                                                  {ErrorCode::queue_full, 429},      {ErrorCode::loading, 503},
                                                  {ErrorCode::pinned_conflict, 409}, {ErrorCode::bad_request, 400},
                                                  {ErrorCode::unauthorized, 401},    {ErrorCode::engine_failed, 502},
                                                  {ErrorCode::corrupt, 500},         {ErrorCode::too_large, 413}};
  for (const auto& [code, status] : table)
    EXPECT_EQ(status_of(code), status) << base::name_of(code);
}

TEST(ErrorReply, EachDialectHasItsShape) {
  const base::Error error{ErrorCode::model_not_found, "no \xff model"};
  EXPECT_EQ(json::parse(error_body(domain::Api::native, error))["error"]["code"], "model_not_found");
  const json openai = json::parse(error_body(domain::Api::openai, error));
  EXPECT_EQ(openai["error"]["type"], "invalid_request_error");
  EXPECT_TRUE(openai["error"]["param"].is_null());
}

TEST(ErrorReply, RetryAfterIsAtLeastASecond) {
  EXPECT_EQ(retry_after_of({ErrorCode::loading, "", std::chrono::milliseconds(20)}), "1");
  EXPECT_EQ(retry_after_of({ErrorCode::loading, "", std::chrono::milliseconds(2100)}), "3");
  EXPECT_EQ(retry_after_of({ErrorCode::loading, ""}), std::nullopt);
}

TEST(ErrorReply, OllamaHasOneText) {
  EXPECT_EQ(error_body(domain::Api::ollama, {base::ErrorCode::bad_request, "no \"x\""}), R"({"error":"no \"x\""})");
}

}  // namespace
}  // namespace hearth::http
