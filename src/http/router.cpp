#include "http/router.h"

#include <charconv>
#include <optional>

#include "base/text.h"

namespace hearth::http {
namespace {

using beast::http::verb;

bool is_placeholder(std::string_view part) { return part.starts_with('{') && part.ends_with('}'); }

std::optional<std::map<std::string, std::string>> fit(const std::vector<std::string>& pattern,
                                                      const std::vector<std::string_view>& path) {
  if (pattern.size() != path.size()) return std::nullopt;
  std::map<std::string, std::string> parts;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (!is_placeholder(pattern[i])) {
      if (pattern[i] != path[i]) return std::nullopt;
      continue;
    }
    std::string value = percent_decode(path[i]);
    if (value.empty()) return std::nullopt;
    parts[pattern[i].substr(1, pattern[i].size() - 2)] = std::move(value);
  }
  return parts;
}

}  // namespace

void Router::add(verb method, std::string_view pattern, Handler handler) {
  std::vector<std::string> parts;
  for (const auto part : base::split(pattern, '/'))
    parts.emplace_back(part);
  routes_.push_back({method, std::move(parts), std::move(handler)});
}

Router::Match Router::match(verb method, std::string_view path) const {
  const auto parts = base::split(path, '/');
  const verb wanted = method == verb::head ? verb::get : method;
  Match match;
  for (const auto& route : routes_) {
    auto fitted = fit(route.pattern, parts);
    if (!fitted) continue;
    match.path_known = true;
    if (route.method != wanted) continue;
    match.handler = &route.handler;
    match.parts = std::move(*fitted);
    break;
  }
  return match;
}

std::string percent_decode(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    if (text.front() != '%') {
      decoded += text.front();
      text.remove_prefix(1);
      continue;
    }
    unsigned value = 0;
    if (text.size() < 3) return {};
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + 3, value, 16);
    if (error != std::errc() || end != text.data() + 3) return {};
    decoded += static_cast<char>(value);
    text.remove_prefix(3);
  }
  return decoded;
}

}  // namespace hearth::http
