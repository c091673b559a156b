#include "http/guard.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace hearth::http {
namespace {

using base::ErrorCode;

std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

bool is_this_machine(std::string_view host) {
  constexpr std::array<std::string_view, 3> kNames = {"localhost", "127.0.0.1", "[::1]"};
  const std::string name = base::to_lower(without_port(host));
  return std::ranges::find(kNames, name) != kNames.end() || name.ends_with(".localhost");
}

std::string_view host_of_origin(std::string_view origin) {
  const auto scheme_end = origin.find("://");
  return scheme_end == std::string_view::npos ? std::string_view{} : origin.substr(scheme_end + 3);
}

// In constant time for keys of equal length.
bool same_key(std::string_view given, std::string_view expected) {
  return given.size() == expected.size() && CRYPTO_memcmp(given.data(), expected.data(), given.size()) == 0;
}

std::string_view bearer_of(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (base::to_lower(authorization.substr(0, kScheme.size())) != kScheme) return {};
  return base::trim(authorization.substr(kScheme.size()));
}

}  // namespace

bool is_own_page(std::string_view origin) { return !origin.empty() && is_this_machine(host_of_origin(origin)); }

base::Status may_come(const AccessRules& rules, const Caller& caller) {
  if (rules.loopback_only && !caller.host.empty() && !is_this_machine(caller.host)) {
    return base::fail(ErrorCode::permission, "the Host header names another machine; ask for localhost or 127.0.0.1");
  }
  if (rules.loopback_only && !caller.origin.empty() && !is_own_page(caller.origin)) {
    return base::fail(ErrorCode::permission,
                      "a page from another site may not use this server; open the page from localhost");
  }
  return {};
}

base::Status may_ask(const AccessRules& rules, const Caller& caller) {
  if (auto came = may_come(rules, caller); !came) return came;
  if (rules.api_key.empty()) return {};
  if (same_key(bearer_of(caller.authorization), rules.api_key) || same_key(caller.x_api_key, rules.api_key)) return {};
  return base::fail(ErrorCode::unauthorized,
                    "the API key is missing or wrong; send it as \"Authorization: Bearer KEY\"");
}

}  // namespace hearth::http
