#include "http/guard.h"

#include <gtest/gtest.h>

namespace hearth::http {
namespace {

using base::ErrorCode;

ErrorCode verdict(const AccessRules& rules, const Caller& caller) {
  const auto status = may_ask(rules, caller);
  return status ? ErrorCode::internal : status.error().code;
}
constexpr ErrorCode kAllowed = ErrorCode::internal;

Caller from(std::string_view host, std::string_view origin = "") {
  return {.host = host, .origin = origin, .authorization = "", .x_api_key = ""};
}

TEST(Guard, OnLoopbackOnlyThisMachinesNamesPass) {
  const AccessRules rules;
  for (const char* host : {"", "localhost", "LOCALHOST:11434", "127.0.0.1:1", "[::1]:11434", "hearth.localhost"}) {
    EXPECT_EQ(verdict(rules, from(host)), kAllowed) << host;
  }
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "[::2]"}) {
    EXPECT_EQ(verdict(rules, from(host)), ErrorCode::permission) << host;
  }
}

TEST(Guard, PagesOfOtherSitesAreRefused) {
  const AccessRules rules;
  EXPECT_EQ(verdict(rules, from("localhost", "http://localhost:3000")), kAllowed);
  EXPECT_EQ(verdict(rules, from("localhost", "https://evil.example")), ErrorCode::permission);
  EXPECT_EQ(verdict(rules, from("localhost", "null")), ErrorCode::permission);
}

TEST(Guard, OnlyPagesOfThisMachineReadAnswers) {
  for (const char* own : {"http://localhost:3000", "http://127.0.0.1", "https://[::1]:8443"})
    EXPECT_TRUE(is_own_page(own)) << own;
  for (const char* other : {"", "null", "localhost", "https://evil.example", "http://localhost.evil.example"})
    EXPECT_FALSE(is_own_page(other)) << other;
}

TEST(Guard, APreflightNeedsNoKey) {
  const AccessRules rules{.api_key = "secret", .loopback_only = true};
  EXPECT_TRUE(may_come(rules, from("localhost", "http://localhost:3000")));
  EXPECT_FALSE(may_come(rules, from("localhost", "https://evil.example")));
  EXPECT_FALSE(may_come(rules, from("evil.example", "http://localhost:3000")));
}

TEST(Guard, AKeyOpensByEitherHeader) {
  const AccessRules rules{.api_key = "secret", .loopback_only = false};
  EXPECT_EQ(verdict(rules, {"x", "", "Bearer secret", ""}), kAllowed);
  EXPECT_EQ(verdict(rules, {"x", "", "bearer  secret ", ""}), kAllowed);
  EXPECT_EQ(verdict(rules, {"x", "", "", "secret"}), kAllowed);
  for (const char* wrong : {"", "Bearer", "Bearer secre", "Bearer secrets", "Basic secret"}) {
    EXPECT_EQ(verdict(rules, {"x", "", wrong, ""}), ErrorCode::unauthorized) << wrong;
  }
}

}  // namespace
}  // namespace hearth::http
