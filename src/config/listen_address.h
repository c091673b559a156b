#pragma once
// Where the server listens.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::config {

struct ListenAddress {
  std::string host = "127.0.0.1";  // a numeric IPv4 or IPv6 address, without brackets
  std::uint16_t port = 11434;      // 0: any free port

  [[nodiscard]] bool is_loopback() const;
  [[nodiscard]] std::string text() const;  // "127.0.0.1:11434", "[::1]:11434"
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

// "127.0.0.1:11434", "0.0.0.0:80", "[::1]:11434"; "localhost" is 127.0.0.1. Other names are not looked up: what a name
// means may change, what the server listens on must not. Errors: bad_request, with the forms understood.
[[nodiscard]] base::Result<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace hearth::config
