#include "config/listen_address.h"

#include <gtest/gtest.h>

namespace hearth::config {
namespace {

TEST(ListenAddress, ReadsNumericAddresses) {
  struct Case {
    const char* text;
    const char* written;
    bool loopback;
  };
  for (const auto& [text, written, loopback] :
       {Case{"127.0.0.1:11434", "127.0.0.1:11434", true}, Case{"localhost:0", "127.0.0.1:0", true},
        Case{"127.8.9.1:1", "127.8.9.1:1", true}, Case{"0.0.0.0:80", "0.0.0.0:80", false},
        Case{"192.168.1.5:65535", "192.168.1.5:65535", false}, Case{"[::1]:80", "[::1]:80", true},
        Case{"[::]:80", "[::]:80", false}}) {
    const auto address = parse_listen_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text(), written);
    EXPECT_EQ(address->is_loopback(), loopback) << text;
  }
}

TEST(ListenAddress, RefusesTheRest) {
  for (const std::string_view text :
       {std::string_view(""), std::string_view(":80"), std::string_view("127.0.0.1"), std::string_view("127.0.0.1:"),
        std::string_view("127.0.0.1:65536"), std::string_view("127.0.0.1:-1"), std::string_view("127.0.0.1:+1"),
        std::string_view("127.0.0.1:80 "), std::string_view("::1:80"), std::string_view("[::1]"),
        std::string_view("[]:80"), std::string_view("[127.0.0.1]:80"), std::string_view("example.com:80"),
        std::string_view("http://127.0.0.1:80"), std::string_view("127.0.0.1\0x:80", 14),
        std::string_view("256.0.0.1:80"), std::string_view("127.1:80")}) {
    EXPECT_FALSE(parse_listen_address(text)) << text;
  }
}

}  // namespace
}  // namespace hearth::config
