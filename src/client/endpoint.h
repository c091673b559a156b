#pragma once
// The address of a Hearth server, as HEARTH_URL gives it.
#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::client {

inline constexpr std::string_view kDefaultUrl = "http://127.0.0.1:11434";

struct Endpoint {
  std::string host;    // name or numeric address, without brackets
  std::string port;    // digits
  std::string prefix;  // "" or "/below", without a final slash
  std::string url;     // as given, for messages
};

// "http://HOST[:PORT][/PREFIX]"; without a port it is 80, as everywhere. Errors: bad_request; unsupported for https,
// user names and queries, which a server of one's own has no use for.
[[nodiscard]] base::Result<Endpoint> parse_endpoint(std::string_view url);

// Fit for one segment of a path: everything but letters, digits and "-._~:" as %XX.
[[nodiscard]] std::string path_segment(std::string_view text);

}  // namespace hearth::client
