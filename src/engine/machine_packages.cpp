#include "engine/machine_packages.h"

#include <charconv>

#include "base/text.h"

namespace hearth::engine {
namespace {

std::string_view unquoted(std::string_view value) {
  value = base::trim(value);
  const bool quoted =
      value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front();
  return quoted ? value.substr(1, value.size() - 2) : value;
}

}  // namespace

OsRelease parse_os_release(std::string_view text) {
  OsRelease os;
  for (const std::string_view line : base::split(text, '\n')) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = base::trim(line.substr(0, equals));
    const std::string_view value = unquoted(line.substr(equals + 1));
    if (name == "ID") os.id = value;
    if (name == "VERSION_CODENAME") os.codename = value;
    int number = 0;
    const bool numeric = std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc();
    if (name == "VERSION_ID" && numeric) os.version = number;
  }
  return os;
}

bool has_package_of_its_own(const OsRelease& os) {
  return os.id == "debian" && os.version.value_or(kFirstRelease) >= kFirstRelease;
}

bool has_candidate(std::string_view policy_output) {
  for (const std::string_view raw : base::split(policy_output, '\n')) {
    const std::string_view line = base::trim(raw);
    constexpr std::string_view kStart = "Candidate:";
    if (line.starts_with(kStart)) return base::trim(line.substr(kStart.size())) != "(none)";
  }
  return false;
}

InstallWay choose_way(const OsRelease& os, bool candidate, bool may_change_system) {
  if ((candidate || has_package_of_its_own(os)) && may_change_system) return InstallWay::system;
  return os.id == "debian" ? InstallWay::private_prefix : InstallWay::none;
}

}  // namespace hearth::engine
