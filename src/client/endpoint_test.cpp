#include "client/endpoint.h"

#include <gtest/gtest.h>

namespace hearth::client {
namespace {

TEST(Endpoint, ReadsAddresses) {
  struct Case {
    const char* url;
    const char* host;
    const char* port;
    const char* prefix;
  };
  for (const auto& [url, host, port, prefix] :
       {Case{"http://127.0.0.1:11434", "127.0.0.1", "11434", ""},
        Case{"http://localhost:8080/", "localhost", "8080", ""}, Case{"HTTP://home.lan/ai//", "home.lan", "80", "/ai"},
        Case{" http://[::1]:99/x\n", "::1", "99", "/x"}, Case{"http://[fe80::1%eth0]", "fe80::1%eth0", "80", ""}}) {
    const auto endpoint = parse_endpoint(url);
    ASSERT_TRUE(endpoint) << url;
    EXPECT_EQ(endpoint->host, host);
    EXPECT_EQ(endpoint->port, port);
    EXPECT_EQ(endpoint->prefix, prefix);
  }
}

TEST(Endpoint, RefusesTheRest) {
  for (const char* url : {"", "127.0.0.1:11434", "ftp://x", "http://", "http://:80", "http://x:0", "http://x:99999",
                          "http://x:", "http://u:p@x", "http://x/a?b", "http://x/a#b", "http://x y", "http://[::1",
                          "http://[::1]x:80", "http://[]:80", "http://x\r\ny", "http://x/a b", "https://x"}) {
    EXPECT_FALSE(parse_endpoint(url)) << url;
  }
  EXPECT_EQ(parse_endpoint("https://x").error().code, base::ErrorCode::unsupported);
}

TEST(PathSegment, CannotLeaveItsPlace) {
  EXPECT_EQ(path_segment("qwen3-4b:q4_k_m"), "qwen3-4b:q4_k_m");
  EXPECT_EQ(path_segment("../a b?\r\n%"), "..%2Fa%20b%3F%0D%0A%25");
}

}  // namespace
}  // namespace hearth::client
