#include "engine/catalogue.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "engine/engine_prefix.h"
#include "tests/support/temp_folder.h"

namespace hearth::engine {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(EngineVersion, UnderstandsBothForms) {
  const auto debian =
      parse_version("load_backend: loaded\nversion: 0.7.0 (build 11669, commit Debian)\nbuilt with GNU 16.2.0\n");
  ASSERT_TRUE(debian);
  EXPECT_EQ(debian->version, "0.7.0");
  EXPECT_EQ(debian->build, "11669");
  const auto upstream = parse_version("version: 6123 (a1b2c3d)\r\n");
  ASSERT_TRUE(upstream);
  EXPECT_EQ(upstream->version, "6123");
  EXPECT_EQ(upstream->build, "6123");
}

TEST(EngineVersion, RefusesOtherPrograms) {
  for (const char* output : {"", "version: ", "version:  (x)", "nginx version: nginx/1.22 (x)", "version: ../../x (y)",
                             "Version: 3 (x)", "version: 11111111111111111111111111111111111111 (x)"}) {
    EXPECT_FALSE(parse_version(output)) << output;
  }
}

class Catalogue : public testing::Test {
 protected:
  Catalogue() {
    fs::create_directories(home_ / "bin");
    options_.search_path = (home_ / "bin").string();
    options_.data_dir = home_ / "data";
    options_.on_skipped = [this](std::string_view what) { skipped_.emplace_back(what); };
  }

  void program(const fs::path& path, const std::string& says) const {
    fs::create_directories((home_ / path).parent_path());
    std::ofstream(home_ / path) << "#!/bin/sh\necho '" << says << "'\n";
    fs::permissions(home_ / path, fs::perms::owner_all);
  }
  void installed(const std::string& build, const std::string& says) const {
    const fs::path folder = "data/engines/llama-server-" + build;
    program(folder / "usr/bin/llama-server", "");
    program(folder / "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", says);
    std::ofstream(home_ / folder / "install.json") << record_to_json({.version = "0.7.0",
                                                                      .build = build,
                                                                      .package_version = "1",
                                                                      .architecture = "amd64",
                                                                      .suite = "forky",
                                                                      .installed_at = "",
                                                                      .packages = {}});
  }
  std::vector<std::string> ids() {
    std::vector<std::string> result;
    const auto engines = list_engines(options_).value();
    for (const auto& engine : engines)
      result.push_back(engine.origin + " " + engine.id);
    return result;
  }

  test::TempFolder own_;
  fs::path home_ = own_.path();
  CatalogueOptions options_;
  std::vector<std::string> skipped_;
};

TEST_F(Catalogue, NothingFoundNamesTheMend) {
  EXPECT_THAT(ids(), IsEmpty());
  const auto found = find_engine(options_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, base::ErrorCode::not_found);
  EXPECT_THAT(found.error().message, HasSubstr("hearth engine install"));
}

TEST_F(Catalogue, ConfiguredThenPathThenNewestInstalled) {
  program("own/llama-server", "version: 9 (x)");
  program("bin/llama-server", "version: 0.7.0 (build 11669, commit Debian)");
  installed("11669", "version: 0.7.0 (build 11669, commit Debian)");
  installed("9999", "version: 0.6.0 (build 9999, commit Debian)");
  installed("12001", "version: 0.8.0 (build 12001, commit Debian)");
  options_.configured = (home_ / "own/llama-server").string();
  EXPECT_THAT(ids(), ElementsAre("config llama-server-9", "path llama-server-11669", "installed llama-server-12001",
                                 "installed llama-server-11669-2", "installed llama-server-9999"));
  EXPECT_EQ(find_engine(options_)->id, "llama-server-9");
}

TEST_F(Catalogue, WhatCannotBeUsedIsSaidAndSkipped) {
  program("bin/llama-server", "I am something else");
  installed("12001", "Segmentation fault");
  installed("11669", "version: 0.7.0 (build 11669, commit Debian)");
  fs::create_directories(home_ / "data/engines/llama-server-1");
  EXPECT_EQ(find_engine(options_)->id, "llama-server-11669");
  EXPECT_THAT(skipped_, SizeIs(3));
  EXPECT_THAT(skipped_, Contains(HasSubstr("I am something else")));
  EXPECT_THAT(skipped_, Contains(HasSubstr("no readable install.json")));
}

TEST_F(Catalogue, AConfiguredEngineMustWork) {
  program("bin/llama-server", "version: 9 (x)");
  options_.configured = (home_ / "nothing").string();
  const auto listed = list_engines(options_);
  ASSERT_FALSE(listed);
  EXPECT_THAT(listed.error().message, HasSubstr("the configured engine"));
}

TEST_F(Catalogue, AConfiguredCommandMayHaveSeveralWords) {
  program("bin/wrap", "version: 9 (x)");
  options_.configured = std::vector<std::string>{"wrap", "--library-path", "/a:/b", (home_ / "engine").string()};
  const auto engine = find_engine(options_);
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_THAT(engine->command,
              ElementsAre((home_ / "bin/wrap").string(), "--library-path", "/a:/b", (home_ / "engine").string()));
}

TEST_F(Catalogue, OfAScriptNothingIsClaimed) {
  program("bin/llama-server", "version: 9 (x)");
  const auto engine = find_engine(options_);
  ASSERT_TRUE(engine);
  EXPECT_FALSE(engine->tier.available);
  EXPECT_THAT(engine->tier.present, IsEmpty());
  EXPECT_THAT(engine->tier.missing, Contains(HasSubstr("is a script")));
}

TEST_F(Catalogue, AHangingProgramIsSkipped) {
  fs::create_directories(home_ / "bin");
  std::ofstream(home_ / "bin/llama-server") << "#!/bin/sh\nexec /bin/sleep 600\n";
  fs::permissions(home_ / "bin/llama-server", fs::perms::owner_all);
  options_.version_deadline = std::chrono::milliseconds(50);
  EXPECT_FALSE(find_engine(options_));
  EXPECT_THAT(skipped_, ElementsAre(HasSubstr("did not end within")));
}

TEST(InstallRecord, ComesBackAsItWas) {
  const InstallRecord record{
      .version = "0.7.0",
      .build = "11669",
      .package_version = "1:0.7.0+dfsg-2",
      .architecture = "amd64",
      .suite = "forky",
      .installed_at = "2026-01-31T08:15:30.123Z",
      .expiry_waived = true,
      .packages = {{.name = "a", .version = "1", .architecture = "all", .bytes = 5, .sha256 = "ff"}}};
  EXPECT_EQ(record_from_json(record_to_json(record)).value(), record);
}

TEST(InstallRecord, DamageIsAnError) {
  const std::string good =
      record_to_json({.version = "1",
                      .build = "1",
                      .package_version = "1",
                      .architecture = "amd64",
                      .suite = "s",
                      .installed_at = "",
                      .packages = {{.name = "a", .version = "1", .architecture = "all", .bytes = 5, .sha256 = {}}}});
  ASSERT_TRUE(record_from_json(good));
  for (std::size_t size = 0; size + 2 < good.size(); ++size)
    EXPECT_FALSE(record_from_json(good.substr(0, size))) << size;
  for (const char* text : {"[]", "null", "3", "{}", R"({"version": 5})"})
    EXPECT_FALSE(record_from_json(text)) << text;
}

}  // namespace
}  // namespace hearth::engine
