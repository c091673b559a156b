#pragma once
// Who may ask at all, judged from the head of a request alone. Pure.
//
// A server on loopback is reachable from every page in the household's browsers: a page may send simple requests to
// 127.0.0.1, and by DNS rebinding even read the answers. So a request must name a host that is this machine, and one
// that a browser sends for a page (Origin) must come from a page of this machine.
#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::http {

struct AccessRules {
  std::string api_key;        // empty: none is asked for
  bool loopback_only = true;  // the listener is on loopback: names are checked
};

struct Caller {
  std::string_view host;           // Host header, may be empty
  std::string_view origin;         // Origin header, may be empty
  std::string_view authorization;  // "Bearer KEY"
  std::string_view x_api_key;
};

// By host and origin alone: what a browser asks before a page's request has no key. Errors: permission.
[[nodiscard]] base::Status may_come(const AccessRules& rules, const Caller& caller);
// A page of this machine may read the answers. Never another, also where its requests are served.
[[nodiscard]] bool is_own_page(std::string_view origin);

// Errors: permission (host or origin), unauthorized (key).
[[nodiscard]] base::Status may_ask(const AccessRules& rules, const Caller& caller);

}  // namespace hearth::http
