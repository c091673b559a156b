#pragma once
// apt-get run against a folder of its own: own package lists, own archive folder, an empty status file. It needs no
// root, takes no lock of the system's and changes nothing outside the folder. apt checks every signature and digest.
// Blocking; owned by one thread.
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/apt_sources.h"
#include "engine/engine_prefix.h"

namespace hearth::engine {

// How an operation tells of itself: what is being done, and how far it is (0…1) where that is known.
using Progress = std::function<void(std::string_view step, std::optional<double> fraction)>;

// What the host's apt is configured to do. Read with apt-config, so that moved files are found.
struct HostApt {
  std::vector<AptSource> sources;
  std::vector<std::string> transport;  // its proxy and transport settings, as lines of an apt configuration file
  std::string architecture;            // "amd64"
};
// Errors: not_found (no apt here), io.
[[nodiscard]] base::Result<HostApt> read_host_apt(const std::string& search_path);

// The keyring that must have signed the mirror: the mirror's own, Debian's whole one where it is a part of that or none
// is named. Errors: not_found, whose mend is the package to install.
[[nodiscard]] base::Result<std::string> keyring_of(const Mirror& mirror);

struct PlannedPackage {
  PackageRecord record;
  std::string file;  // its name in the archive folder
};

class PrivateApt {
 public:
  struct Options {
    std::filesystem::path folder;  // exists and is empty
    std::string search_path;       // where apt-get is; empty: PATH
    Mirror mirror;
    std::string keyring;
    std::string suite;  // to take packages from
    HostApt host;
    std::chrono::milliseconds deadline{600'000};  // of each run
  };

  // Writes the folder's configuration. Errors: io, no_space.
  [[nodiscard]] static base::Result<PrivateApt> create(Options options);

  // Fetches the suite's signed index. An index that is past its Valid-Until date and has no other fault is fetched
  // again with the date waived; `expiry_waived` then says so. Errors: io (apt's own words), timeout.
  [[nodiscard]] base::Status update(const Progress& progress);
  [[nodiscard]] bool expiry_waived() const { return expiry_waived_; }

  // `package` and all it needs. Errors: not_found (the suite does not have it), io.
  [[nodiscard]] base::Result<std::vector<PlannedPackage>> plan(const std::string& package);
  // Downloads them; each file is then whole and has the digest of the signed index. Errors: io, no_space, timeout.
  [[nodiscard]] base::Status download(const std::string& package, const Progress& progress);
  [[nodiscard]] std::filesystem::path archives() const { return options_.folder / "cache/archives"; }

 private:
  explicit PrivateApt(Options options) : options_(std::move(options)) {}
  [[nodiscard]] base::Result<std::string> run(std::vector<std::string> arguments, const std::string& step,
                                              const Progress& progress) const;

  Options options_;
  bool expiry_waived_ = false;
};

// The pieces that understand apt's output (which is asked for in the C locale).

// "dlstatus:3:14.51:…" -> 0.1451; nothing for other lines.
[[nodiscard]] std::optional<double> parse_download_status(std::string_view line);
// Lines of `apt-get install --print-uris`: 'URI' FILE SIZE DIGEST. Errors: corrupt.
[[nodiscard]] base::Result<std::vector<PlannedPackage>> parse_print_uris(std::string_view output);
// True when apt gave errors and each of them is that a Release file is expired.
[[nodiscard]] bool only_expired(std::string_view output);
// The first line in which apt says what is wrong, without its "E: "; else its last words.
[[nodiscard]] std::string apt_complaint(std::string_view output);

}  // namespace hearth::engine
