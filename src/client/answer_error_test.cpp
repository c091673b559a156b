#include "client/answer_error.h"

#include <gtest/gtest.h>

namespace hearth::client {
namespace {

using enum base::ErrorCode;

TEST(AnswerError, ReadsTheNativeAndTheOtherForms) {
  struct Case {
    int status;
    const char* body;
    base::ErrorCode code;
    const char* message;
  };
  for (const auto& [status, body, code, message] :
       {Case{404, R"({"error":{"code":"model_not_found","message":"no model x","details":{}}})", model_not_found,
             "no model x"},
        Case{500, R"({"error":{"code":"corrupt","message":"bad file"}})", corrupt, "bad file"},
        Case{400, R"({"error":{"code":400,"type":"x","message":"too long"}})", bad_request, "too long"},
        Case{429, R"({"error":"queue is full"})", queue_full, "queue is full"},
        Case{507, R"({"error":{"code":"surprise","message":"a\u001b[2Jb\nc"}})", does_not_fit, "a?[2Jb?c"},
        Case{404, "404 page not found", not_found, "the server answered with status 404 and no reason"},
        Case{502, "", engine_failed, "the server answered with status 502 and no reason"},
        Case{500, R"({"error":{"message":7}})", internal, "the server answered with status 500 and no reason"},
        Case{500, "[1,2", internal, "the server answered with status 500 and no reason"}}) {
    const auto error = error_from_answer(status, body, std::nullopt);
    EXPECT_EQ(error.code, code) << body;
    EXPECT_EQ(error.message, message);
  }
}

TEST(AnswerError, KnowsWhenToComeBack) {
  EXPECT_EQ(error_from_answer(503, "", "7").retry_after, std::chrono::seconds(7));
  for (const char* text : {"", "soon", "-1", "99999999999999999999", "100000"}) {
    EXPECT_EQ(error_from_answer(503, "", text).retry_after, std::nullopt) << text;
  }
}

TEST(AnswerError, BoundsTheMessage) {
  EXPECT_LT(error_from_answer(500, R"({"error":")" + std::string(100'000, 'x') + "\"}", std::nullopt).message.size(),
            3000u);
}

}  // namespace
}  // namespace hearth::client
