#pragma once
// apt's own list of package sources, read only to learn which Debian mirror this machine uses and which key signs it.
// Pure. Format: sources.list(5), both styles.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::engine {

// One enabled `deb` entry.
struct AptSource {
  std::vector<std::string> uris;
  std::vector<std::string> suites;
  std::vector<std::string> components;
  std::string signed_by;  // a path or key fingerprints; empty when not given or given as a key block
};

// "deb [options] uri suite component…", a line each. Lines that are not understood are left out, as they are no use
// here.
[[nodiscard]] std::vector<AptSource> parse_list_file(std::string_view text);
// Stanzas of "Field: value" (deb822).
[[nodiscard]] std::vector<AptSource> parse_sources_file(std::string_view text);

struct Mirror {
  std::string uri;
  std::string suite;      // that this machine takes from it
  std::string signed_by;  // as in AptSource
};

// The mirror of Debian itself: the entry with component "main" whose suite is `codename` (or an alias such as "stable"
// or "sid"), those signed by Debian's own keyring first. Nothing when no entry is one (a machine that is not Debian, a
// CD-ROM).
[[nodiscard]] std::optional<Mirror> choose_mirror(const std::vector<AptSource>& sources, std::string_view codename);

}  // namespace hearth::engine
