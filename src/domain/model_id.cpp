#include "domain/model_id.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace hearth::domain {
namespace {

constexpr std::size_t kLongest = 128;

bool is_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_allowed(char c) { return is_alnum(c) || c == '.' || c == '_' || c == '-'; }

bool is_part(std::string_view part) {
  return !part.empty() && is_alnum(part.front()) && std::ranges::all_of(part, is_allowed);
}

bool is_id(std::string_view text) {
  const auto parts = base::split(text, ':');
  return text.size() <= kLongest && parts.size() <= 2 && std::ranges::all_of(parts, is_part);
}

}  // namespace

base::Result<ModelId> ModelId::parse(std::string_view text) {
  std::string lower = base::to_lower(text);
  if (is_id(lower)) return ModelId(std::move(lower));
  return base::fail(
      base::ErrorCode::bad_request,
      fmt::format("\"{}\" is not a model name; use letters, digits, '.', '_', '-' and at most one ':' between them, at "
                  "most {} characters",
                  base::printable(text, 64), kLongest));
}

base::Result<ModelId> ModelId::from_file_name(std::string_view file_name) {
  std::string_view stem = file_name.substr(file_name.find_last_of('/') + 1);
  std::string name = base::to_lower(stem);
  if (name.ends_with(".gguf")) name.resize(name.size() - 5);
  std::ranges::replace_if(
      name, [](char c) { return !is_allowed(c); }, '-');
  name.erase(name.begin(), std::ranges::find_if(name, is_alnum));
  return parse(std::string_view(name).substr(0, kLongest));
}

std::string ModelId::file_stem() const {
  std::string stem = text_;
  std::ranges::replace(stem, ':', '@');
  return stem;
}

}  // namespace hearth::domain
