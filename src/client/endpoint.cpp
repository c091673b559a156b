#include "client/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/text.h"

namespace hearth::client {
namespace {

bool is_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0;
}

bool is_host(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return is_alnum(c) || c == '.' || c == '-' || c == '_'; });
}

bool is_v6(std::string_view text) {
  return text.contains(':') &&
         std::ranges::all_of(text, [](char c) { return is_alnum(c) || c == ':' || c == '.' || c == '%'; });
}

bool is_prefix(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f && c != '?' && c != '#'; });
}

std::unexpected<base::Error> bad_url(std::string_view url) {
  return base::fail(base::ErrorCode::bad_request,
                    fmt::format("\"{}\" is not the address of a server; write HEARTH_URL like {}",
                                base::printable(url, 200), kDefaultUrl));
}

}  // namespace

base::Result<Endpoint> parse_endpoint(std::string_view url) {
  const std::string_view given = base::trim(url);
  if (base::to_lower(given).starts_with("https://")) {
    return base::fail(base::ErrorCode::unsupported,
                      "HEARTH_URL begins with https, which this client does not speak; use http, through a tunnel "
                      "where the way is not safe");
  }
  if (!base::to_lower(given).starts_with("http://")) return bad_url(url);
  std::string_view rest = given.substr(7);
  const auto slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  std::string_view prefix = rest.substr(slash);
  while (prefix.ends_with('/'))
    prefix.remove_suffix(1);

  const auto bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos) return bad_url(url);
  const auto colon = authority.find(':', bracket);
  std::string_view host = authority.substr(0, colon);
  const std::string_view port = colon == std::string_view::npos ? "80" : authority.substr(colon + 1);
  const bool v6 = bracket > 0 && host.size() == bracket + 1;
  if (v6) host = host.substr(1, host.size() - 2);
  if (!(v6 ? is_v6(host) : is_host(host)) || !is_port(port) || !is_prefix(prefix)) return bad_url(url);
  return Endpoint{std::string(host), std::string(port), std::string(prefix), std::string(given)};
}

std::string path_segment(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (is_alnum(c) || std::string_view("-._~:").contains(c)) {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

}  // namespace hearth::client
