#include "sys/proc_text.h"

#include <array>

#include "base/text.h"

namespace hearth::sys {
namespace {

// What follows `prefix` where a line begins with it, up to the end of that line.
std::optional<std::string_view> line_after(std::string_view text, std::string_view prefix) {
  for (const auto line : base::split(text, '\n')) {
    if (line.starts_with(prefix)) return line.substr(prefix.size());
  }
  return std::nullopt;
}

}  // namespace

std::optional<StatFields> parse_stat(std::string_view text) {
  const auto bracket = text.rfind(')');
  if (bracket == std::string_view::npos) return std::nullopt;
  const auto fields = base::split(base::trim(text.substr(bracket + 1)), ' ');  // fields[0] is field 3, the state
  if (fields.size() < 20 || fields[0].size() != 1) return std::nullopt;
  const std::array wanted = {number_in<std::uint64_t>(fields[9]), number_in<std::uint64_t>(fields[11]),
                             number_in<std::uint64_t>(fields[12]), number_in<std::uint64_t>(fields[19])};
  for (const auto& number : wanted) {
    if (!number) return std::nullopt;
  }
  return StatFields{fields[0][0], *wanted[0], *wanted[1], *wanted[2], *wanted[3]};
}

std::optional<std::uint64_t> value_of(std::string_view text, std::string_view name) {
  const auto rest = line_after(text, std::string(name) + ":");
  if (!rest) return std::nullopt;
  const auto number = leading_number<std::uint64_t>(*rest);
  if (!number) return std::nullopt;
  return rest->ends_with(" kB") ? *number * 1024 : *number;
}

std::optional<std::uint64_t> counter_of(std::string_view text, std::string_view name) {
  const auto rest = line_after(text, std::string(name) + " ");
  return rest ? leading_number<std::uint64_t>(*rest) : std::nullopt;
}

std::optional<double> some_avg10(std::string_view text) {
  constexpr std::string_view kKey = "avg10=";
  const auto rest = line_after(text, "some ");
  if (!rest) return std::nullopt;
  const auto at = rest->find(kKey);
  return at == std::string_view::npos ? std::nullopt : leading_number<double>(rest->substr(at + kKey.size()));
}

}  // namespace hearth::sys
