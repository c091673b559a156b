#pragma once
// What this machine's own package manager has to say about llama.cpp, and which way of installing follows from it.
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::engine {

inline constexpr const char* kEnginePackage = "llama.cpp-tools";
// The first Debian release that has the package, and its number.
inline constexpr const char* kFirstSuite = "forky";
inline constexpr int kFirstRelease = 14;

// os-release(5), what matters of it here.
struct OsRelease {
  std::string id;              // "debian"
  std::string codename;        // "bookworm"
  std::optional<int> version;  // 12; rolling suites have none
};
[[nodiscard]] OsRelease parse_os_release(std::string_view text);

// True of Debian forky, later ones, testing and sid: their own mirror has the package.
[[nodiscard]] bool has_package_of_its_own(const OsRelease& os);

// True when `apt-cache policy` says that a version could be installed.
[[nodiscard]] bool has_candidate(std::string_view policy_output);

enum class InstallWay { system, private_prefix, none };

// `candidate`: the machine's apt knows a version of the package. `may_change_system`: root, or sudo without a password.
[[nodiscard]] InstallWay choose_way(const OsRelease& os, bool candidate, bool may_change_system);

}  // namespace hearth::engine
