#include "http/router.h"

#include <gtest/gtest.h>

namespace hearth::http {
namespace {

using beast::http::verb;

rt::Task<void> nothing(Exchange&) { co_return; }

Router sample() {
  Router router;
  router.add(verb::get, "/models", nothing);
  router.add(verb::get, "/models/{id}", nothing);
  router.add(verb::delete_, "/models/{id}", nothing);
  return router;
}

TEST(Router, FindsByMethodAndPath) {
  const Router router = sample();
  EXPECT_NE(router.match(verb::get, "/models").handler, nullptr);
  EXPECT_NE(router.match(verb::head, "/models").handler, nullptr);
  EXPECT_EQ(router.match(verb::get, "/models/").handler, nullptr);
  EXPECT_EQ(router.match(verb::get, "/other").path_known, false);
}

TEST(Router, HandsOnDecodedParts) {
  auto match = sample().match(verb::delete_, "/models/a%3Ab");
  ASSERT_TRUE(match.path_known);
  EXPECT_EQ(match.parts.at("id"), "a:b");
}

TEST(Router, TellsAWrongMethodFromAnUnknownPath) {
  const auto match = sample().match(verb::post, "/models/x");
  EXPECT_EQ(match.handler, nullptr);
  EXPECT_TRUE(match.path_known);
}

TEST(Router, RefusesBrokenEscapes) {
  for (const char* path : {"/models/%", "/models/%4", "/models/%zz", "/models/%-1"}) {
    EXPECT_EQ(sample().match(verb::get, path).handler, nullptr) << path;
  }
}

}  // namespace
}  // namespace hearth::http
