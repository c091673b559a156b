#include "engine/apt_sources.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"

namespace hearth::engine {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space) word.push_back(c);
    if (space && !word.empty()) words.push_back(std::exchange(word, {}));
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

// Inline key blocks are of no use in a one-line entry.
std::string usable_key(std::string_view text) {
  const auto words = words_of(text);
  return words.size() == 1 && words.front() != "." ? words.front() : std::string();
}

std::optional<AptSource> parse_list_line(std::string_view line) {
  line = base::trim(line.substr(0, line.find('#')));
  if (!line.starts_with("deb ") && !line.starts_with("deb\t")) return std::nullopt;
  line = base::trim(line.substr(4));
  AptSource source;
  if (line.starts_with('[')) {
    const auto close = line.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    for (const std::string& option : words_of(line.substr(1, close - 1))) {
      constexpr std::string_view kSignedBy = "signed-by=";
      if (option.starts_with(kSignedBy)) source.signed_by = option.substr(kSignedBy.size());
    }
    line = line.substr(close + 1);
  }
  const auto words = words_of(line);
  if (words.size() < 3) return std::nullopt;
  source.uris = {words[0]};
  source.suites = {words[1]};
  source.components.assign(words.begin() + 2, words.end());
  return source;
}

using Stanza = std::map<std::string, std::string, std::less<>>;

std::optional<AptSource> from_stanza(const Stanza& stanza) {
  const auto field = [&stanza](std::string_view name) {
    const auto found = stanza.find(name);
    return found == stanza.end() ? std::string() : found->second;
  };
  const auto types = words_of(field("types"));
  const std::string enabled = base::to_lower(base::trim(field("enabled")));
  if (std::ranges::find(types, "deb") == types.end() || enabled == "no" || enabled == "false") return std::nullopt;
  return AptSource{.uris = words_of(field("uris")),
                   .suites = words_of(field("suites")),
                   .components = words_of(field("components")),
                   .signed_by = usable_key(field("signed-by"))};
}

bool names_suite(std::string_view suite, std::string_view codename) {
  constexpr std::array<std::string_view, 6> kAliases = {"oldoldstable", "oldstable", "stable",
                                                        "testing",      "unstable",  "sid"};
  return suite == codename || std::ranges::find(kAliases, suite) != kAliases.end();
}

// Debian's own come before third parties that happen to use the same suite name.
int rank(const AptSource& source, std::string_view uri) {
  const bool debian_key = source.signed_by.find("debian-archive") != std::string::npos;
  const bool debian_path = uri.ends_with("/debian") || uri.ends_with("/debian/");
  if (debian_key) return 3;
  if (debian_path) return 2;
  return source.signed_by.empty() ? 1 : 0;
}

}  // namespace

std::vector<AptSource> parse_list_file(std::string_view text) {
  std::vector<AptSource> sources;
  for (const std::string_view line : base::split(text, '\n')) {
    if (auto source = parse_list_line(line)) sources.push_back(*std::move(source));
  }
  return sources;
}

std::vector<AptSource> parse_sources_file(std::string_view text) {
  std::vector<AptSource> sources;
  Stanza stanza;
  std::string current;
  const auto finish = [&] {
    if (auto source = from_stanza(stanza)) sources.push_back(*std::move(source));
    stanza.clear();
    current.clear();
  };
  for (const std::string_view line : base::split(text, '\n')) {
    if (base::trim(line).empty()) {
      finish();
    } else if (line.front() == ' ' || line.front() == '\t') {
      if (!current.empty()) stanza[current].append("\n").append(line);
    } else if (const auto colon = line.find(':'); line.front() != '#' && colon != std::string_view::npos) {
      current = base::to_lower(base::trim(line.substr(0, colon)));
      stanza[current] = line.substr(colon + 1);
    }
  }
  finish();
  return sources;
}

std::optional<Mirror> choose_mirror(const std::vector<AptSource>& sources, std::string_view codename) {
  std::optional<Mirror> best;
  int best_rank = 0;
  for (const AptSource& source : sources) {
    if (std::ranges::find(source.components, "main") == source.components.end()) continue;
    const auto suite =
        std::ranges::find_if(source.suites, [codename](const std::string& s) { return names_suite(s, codename); });
    if (suite == source.suites.end()) continue;
    for (const std::string& uri : source.uris) {
      const int uri_rank = rank(source, uri);
      if (uri.starts_with("cdrom:") || uri_rank <= best_rank) continue;
      best = Mirror{.uri = uri, .suite = *suite, .signed_by = source.signed_by};
      best_rank = uri_rank;
    }
  }
  return best;
}

}  // namespace hearth::engine
