#include "config/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "config/nearest.h"

namespace hearth::config {
namespace {

std::unexpected<base::Error> wanted(std::string_view what) {
  return base::fail(base::ErrorCode::bad_request, fmt::format("must be {}", what));
}

bool is_plain(std::string_view text) {
  return !text.empty() &&
         std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

void Faults::add(const toml::source_region& where, std::string what) {
  faults_.push_back({where.begin, std::move(what)});
}

base::Error Faults::error() const {
  const auto first = std::ranges::min_element(
      faults_, {}, [](const Fault& fault) { return std::tuple(fault.where.line, fault.where.column); });
  std::string place = file_;
  if (first->where.line > 0) place += fmt::format(":{}:{}", first->where.line, first->where.column);
  const std::string more = faults_.size() > 1 ? fmt::format(" (and {} more)", faults_.size() - 1) : "";
  return {base::ErrorCode::bad_request, fmt::format("{}: {}{}", place, first->what, more)};
}

base::Result<std::string> text_of(const toml::node& node) {
  const auto text = node.value_exact<std::string>();
  if (!text || !is_plain(*text)) return wanted("a string of text that is not empty and holds no control characters");
  return *text;
}

base::Result<bool> bool_of(const toml::node& node) {
  const auto value = node.value_exact<bool>();
  if (!value) return wanted("true or false");
  return *value;
}

base::Result<base::Bytes> bytes_of(const toml::node& node) {
  if (const auto number = node.value_exact<std::int64_t>(); number && *number >= 0)
    return static_cast<base::Bytes>(*number);
  if (const auto text = node.value_exact<std::string>()) return base::parse_bytes(*text);
  return wanted("a size like \"1400MB\", \"1.5GiB\" or 4096");
}

base::Result<Milliseconds> duration_of(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return parse_duration(*text);
  if (const auto number = node.value<double>(); number && node.is_number()) return duration_of_seconds(*number);
  return wanted("a duration like \"30s\", \"1h30m\" or 90 (seconds)");
}

base::Result<KeepAlive> keep_alive_of(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return parse_keep_alive(*text);
  if (const auto number = node.value<double>(); number && node.is_number()) return keep_alive_of_seconds(*number);
  return wanted("a duration like \"5m\", 0, \"forever\" or any negative number (forever)");
}

base::Result<std::vector<std::string>> texts_of(const toml::node& node) {
  constexpr std::string_view kWanted = "a list of strings like [\"--threads\", \"4\"]";
  const auto* array = node.as_array();
  if (array == nullptr) return wanted(kWanted);
  std::vector<std::string> texts;
  for (const auto& item : *array) {
    auto text = item.value_exact<std::string>();
    if (!text) return wanted(kWanted);
    texts.push_back(*std::move(text));
  }
  return texts;
}

base::Result<unsigned> number_of(const toml::node& node, unsigned least, unsigned most) {
  const auto number = node.value_exact<std::int64_t>();
  if (!number || *number < least || *number > most)
    return wanted(fmt::format("a whole number from {} to {}", least, most));
  return static_cast<unsigned>(*number);
}

TableReader::TableReader(const toml::table& table, std::string section, std::span<const std::string_view> allowed,
                         Faults& faults)
    : table_(table), section_(std::move(section)), faults_(faults) {
  for (const auto& [key, node] : table) {
    if (std::ranges::find(allowed, key.str()) != allowed.end()) continue;
    faults.add(key.source(), fmt::format("unknown key \"{}\" in {}{}", base::printable(key.str(), 60), section_,
                                         advice(key.str(), allowed)));
  }
}

const toml::source_region& TableReader::place_of(std::string_view key) const {
  const toml::node* node = table_.get(key);
  return node == nullptr ? table_.source() : node->source();
}

}  // namespace hearth::config
