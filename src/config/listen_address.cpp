#include "config/listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/text.h"

namespace hearth::config {
namespace {

std::optional<in_addr> as_v4(const std::string& host) {
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) != 1) return std::nullopt;
  return address;
}

std::optional<in6_addr> as_v6(const std::string& host) {
  in6_addr address{};
  if (inet_pton(AF_INET6, host.c_str(), &address) != 1) return std::nullopt;
  return address;
}

std::optional<std::uint16_t> as_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

// The host without brackets; empty when it is none.
std::string host_of(std::string_view text) {
  const bool bracketed = text.size() > 2 && text.front() == '[' && text.back() == ']';
  std::string host(bracketed ? text.substr(1, text.size() - 2) : text);
  if (host == "localhost") return "127.0.0.1";
  if (host.find('\0') != std::string::npos) return {};
  const bool valid = bracketed ? as_v6(host).has_value() : as_v4(host).has_value();
  return valid ? host : std::string();
}

}  // namespace

bool ListenAddress::is_loopback() const {
  if (const auto v4 = as_v4(host)) return (ntohl(v4->s_addr) >> 24) == 127;
  const auto v6 = as_v6(host);
  return v6 && IN6_IS_ADDR_LOOPBACK(&*v6);
}

std::string ListenAddress::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

base::Result<ListenAddress> parse_listen_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    ListenAddress address{host_of(text.substr(0, colon)), 0};
    const auto port = as_port(text.substr(colon + 1));
    if (port && !address.host.empty()) {
      address.port = *port;
      return address;
    }
  }
  return base::fail(
      base::ErrorCode::bad_request,
      fmt::format("\"{}\" is not an address to listen on; write it like 127.0.0.1:11434, 0.0.0.0:11434 or [::1]:11434",
                  base::printable(text, 80)));
}

}  // namespace hearth::config
