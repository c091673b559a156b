#pragma once
// One engine installed by Hearth: a folder with a Debian file tree of its own, used through its own loader, and a
// record of how it came about. Layout, below <data>/engines/:
//   llama-server-<build>-<package version>/usr/…      what the packages hold
//   llama-server-<build>-<package version>/install.json
//   .tmp-<random>/                                    an installation under way, or the remains of one
//   .lock                                             held (flock) by the one installer at work
// A folder without a readable install.json is not an engine.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace hearth::engine {

// What differs between processor architectures in such a tree.
struct PrefixArchitecture {
  std::string_view debian;   // as `dpkg --print-architecture` says it
  std::string_view triplet;  // folder of the libraries
  std::string_view loader;   // file name of the dynamic linker there
};

// Nothing for an architecture whose layout is not known here.
[[nodiscard]] std::optional<PrefixArchitecture> find_architecture(std::string_view debian);

// <prefix>/usr/lib/<triplet>
[[nodiscard]] std::filesystem::path prefix_libraries(const std::filesystem::path& prefix,
                                                     const PrefixArchitecture& architecture);
// <prefix>/usr/bin/llama-server
[[nodiscard]] std::filesystem::path prefix_program(const std::filesystem::path& prefix);
// What --library-path names.
[[nodiscard]] std::vector<std::string> prefix_library_path(const std::filesystem::path& prefix,
                                                           const PrefixArchitecture& architecture);
// argv that runs the engine: loader, --library-path, its value, program. llama-server's own flags follow.
[[nodiscard]] std::vector<std::string> prefix_command(const std::filesystem::path& prefix,
                                                      const PrefixArchitecture& architecture);

struct PackageRecord {
  std::string name;
  std::string version;
  std::string architecture;
  base::Bytes bytes = 0;
  std::string sha256;  // as the signed index says; empty when apt named another digest
  bool operator==(const PackageRecord&) const = default;
};

struct InstallRecord {
  std::string version;          // "0.7.0"
  std::string build;            // "11669"
  std::string package_version;  // "1:0.7.0+dfsg-2"
  std::string architecture;     // "amd64"
  std::string suite;            // "forky"
  std::string installed_at;     // RFC 3339
  // The mirror's signed index was past its Valid-Until date and was used all the same; its signature was checked.
  bool expiry_waived = false;
  std::vector<PackageRecord> packages;
  bool operator==(const InstallRecord&) const = default;
};

[[nodiscard]] std::string record_to_json(const InstallRecord& record);
// Errors: corrupt, naming the field.
[[nodiscard]] base::Result<InstallRecord> record_from_json(std::string_view text);

struct InstalledPrefix {
  std::filesystem::path folder;
  PrefixArchitecture architecture;
  InstallRecord record;
};

// What is installed in <data>/engines, newest build first. `on_skipped` hears of folders that are no valid engine and
// why. It may be empty.
[[nodiscard]] std::vector<InstalledPrefix> installed_prefixes(const std::filesystem::path& engines,
                                                              const std::function<void(std::string_view)>& on_skipped);

}  // namespace hearth::engine
