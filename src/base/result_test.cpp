#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace hearth::base {
namespace {

TEST(Result, ContextStandsInFrontOfTheReason) {
  Result<int> inner = fail(ErrorCode::io, "disk gone");
  Result<int> outer = pass(inner, "reading model x");
  EXPECT_EQ(outer.error().message, "reading model x: disk gone");
  EXPECT_EQ(outer.error().code, ErrorCode::io);
}

TEST(Result, ErrnoKeepsItsKind) {
  EXPECT_EQ(error_from_errno("writing", ENOSPC).code, ErrorCode::no_space);
  EXPECT_EQ(error_from_errno("binding", EADDRINUSE).code, ErrorCode::in_use);
  EXPECT_EQ(error_from_errno("opening /x", EACCES).message, "opening /x: Permission denied");
}

TEST(Result, RetryHintSurvivesContext) {
  Error error{ErrorCode::loading, "loading", std::chrono::milliseconds(1500)};
  EXPECT_EQ(error.in_context("model x").retry_after, std::chrono::milliseconds(1500));
}

}  // namespace
}  // namespace hearth::base
