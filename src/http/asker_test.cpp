#include "http/asker.h"

#include <gtest/gtest.h>

namespace hearth::http {
namespace {

TEST(OwnerName, IsTheProgramAndItsAddress) {
  EXPECT_EQ(owner_name("ollama-python/0.6.1 (x86_64 linux) Python/3.13", "192.168.1.5"),
            "ollama-python at 192.168.1.5");
  EXPECT_EQ(owner_name("HomeAssistant", "::1"), "HomeAssistant at ::1");
  EXPECT_EQ(owner_name("", "127.0.0.1"), "a client at 127.0.0.1");
}

TEST(OwnerName, IsFitForALogLine) {
  const std::string name = owner_name("evil\x1b[2J\r\nx" + std::string(5000, 'y'), "10.0.0.1");
  EXPECT_LE(name.size(), 80U);
  EXPECT_EQ(name.find('\x1b'), std::string::npos);
  EXPECT_EQ(name.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace hearth::http
