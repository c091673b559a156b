#include "engine/apt_sources.h"

#include <gmock/gmock.h>

namespace hearth::engine {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST(AptSources, ReadsStanzas) {
  const auto sources = parse_sources_file(
      "# the mirror\n"
      "types: deb deb-src\n"
      "URIs: http://mirror.example/debian\n"
      "Suites: bookworm\n"
      "  bookworm-updates\n"
      "# not a field: really\n"
      "Components: main contrib\n"
      "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
      "\n"
      "Types: deb\nURIs: http://off.example/debian\nSuites: bookworm\nComponents: main\nEnabled: no\n"
      "\n\n"
      "Types: deb-src\nURIs: http://src.example/debian\nSuites: bookworm\nComponents: main\n");
  ASSERT_THAT(sources, SizeIs(1));
  EXPECT_THAT(sources[0].uris, ElementsAre("http://mirror.example/debian"));
  EXPECT_THAT(sources[0].suites, ElementsAre("bookworm", "bookworm-updates"));
  EXPECT_THAT(sources[0].components, ElementsAre("main", "contrib"));
  EXPECT_EQ(sources[0].signed_by, "/usr/share/keyrings/debian-archive-keyring.gpg");
}

TEST(AptSources, ReadsLines) {
  const auto sources = parse_list_file(
      "# deb http://no.example/debian bookworm main\n"
      "deb [arch=amd64 signed-by=/k.gpg] http://a.example/debian/ bookworm main contrib # mine\n"
      "deb\thttp://b.example/debian bookworm main\n"
      "deb-src http://c.example/debian bookworm main\n"
      "deb [broken http://d.example/debian bookworm main\n"
      "deb http://e.example/flat ./\n");
  ASSERT_THAT(sources, SizeIs(2));
  EXPECT_EQ(sources[0].signed_by, "/k.gpg");
  EXPECT_THAT(sources[0].uris, ElementsAre("http://a.example/debian/"));
  EXPECT_THAT(sources[0].components, ElementsAre("main", "contrib"));
  EXPECT_THAT(sources[1].suites, ElementsAre("bookworm"));
}

TEST(AptSources, AKeyBlockIsNoKeyName) {
  const auto sources = parse_sources_file(
      "Types: deb\nURIs: http://a.example/debian\nSuites: bookworm\nComponents: main\nSigned-By:\n -----BEGIN PGP "
      "PUBLIC KEY BLOCK-----\n"
      " .\n mQINBF\n");
  ASSERT_THAT(sources, SizeIs(1));
  EXPECT_EQ(sources[0].signed_by, "");
}

AptSource source(std::string uri, std::string suite, std::string component, std::string key = "") {
  return {.uris = {std::move(uri)},
          .suites = {std::move(suite)},
          .components = {std::move(component)},
          .signed_by = std::move(key)};
}

TEST(AptSources, ChoosesTheDebianMirror) {
  const auto mirror = choose_mirror(
      {source("http://third.example/apt", "bookworm", "main", "/third.gpg"),
       source("http://sec.example/debian-security", "bookworm-security", "main"),
       source("http://nope.example/debian", "bookworm", "stable"), source("cdrom:[Debian]/", "bookworm", "main"),
       source("http://deb.example/debian", "bookworm", "main", "/k/debian-archive-keyring.gpg")},
      "bookworm");
  ASSERT_TRUE(mirror);
  EXPECT_EQ(mirror->uri, "http://deb.example/debian");
  EXPECT_EQ(mirror->suite, "bookworm");
}

TEST(AptSources, KnowsTheAliasesOfSuites) {
  const auto mirror = choose_mirror({source("http://deb.example/debian", "stable", "main")}, "bookworm");
  ASSERT_TRUE(mirror);
  EXPECT_EQ(mirror->suite, "stable");
}

TEST(AptSources, FindsNoMirrorWhereThereIsNone) {
  EXPECT_FALSE(choose_mirror({}, "bookworm"));
  EXPECT_FALSE(choose_mirror({source("http://archive.example/ubuntu", "jammy", "main")}, "bookworm"));
  EXPECT_FALSE(choose_mirror({source("http://third.example/apt", "bookworm", "main", "/third.gpg")}, "bookworm"));
}

}  // namespace
}  // namespace hearth::engine
