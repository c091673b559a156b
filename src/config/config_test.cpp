#include "config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temp_folder.h"

namespace hearth::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::optional<std::string> home_only(const char* name) {
  if (std::string_view(name) == "HOME") return "/home/ann";
  return std::nullopt;
}

base::Result<Config> parsed(std::string_view text, const Overrides& overrides = {}) {
  return parse_config(text, "hearth.toml", overrides, home_only);
}

std::string error_of(std::string_view text, const Overrides& overrides = {}) {
  auto config = parsed(text, overrides);
  return config ? "accepted" : config.error().message;
}

domain::ModelId id(std::string_view text) { return domain::ModelId::parse(text).value(); }

TEST(Config, AnEmptyFileGivesTheDefaults) {
  const auto config = parsed("").value();
  EXPECT_EQ(config.server().listen.text(), "127.0.0.1:11434");
  EXPECT_EQ(config.server().data_dir, "/home/ann/.local/share/hearth");
  EXPECT_EQ(config.server().max_body, 100'000'000u);
  EXPECT_EQ(config.server().stop_grace, std::chrono::seconds(30));
  EXPECT_EQ(config.server().api_key, std::nullopt);
  EXPECT_THAT(config.engine().command, IsEmpty());
  EXPECT_EQ(config.engine().start_stall, std::chrono::seconds(60));
  EXPECT_EQ(config.engine().start_limit, std::chrono::minutes(30));
  const auto model = config.effective_for(id("any"));
  EXPECT_EQ(model.service_class, domain::ServiceClass::interactive);
  EXPECT_EQ(model.pinned, false);
  EXPECT_EQ(model.context, std::nullopt);
}

TEST(Config, ReadsEveryKey) {
  const auto config = parsed(R"(
[server]
listen = "0.0.0.0:8080"
data_dir = "~/models"
api_key = "s3cret"
allow_remote_without_key = false
max_body = "2MiB"
stop_grace = 5
[engine]
command = ["/opt/x/llama-server"]
start_stall = "2m"
start_limit = "1h"
[memory]
host_budget = "1400MB"
reserve = 1000
[defaults]
class = "background"
context = 4096
keep_alive = "5m"
slots = 2
flags = ["--threads", "4"]
[models."Qwen3-4b:Q4"]
class = "voice"
pinned = true
context = 8192
keep_alive = -1
slots = 1
flags = ["--no-repack"]
)")
                          .value();
  EXPECT_EQ(config.server().listen.text(), "0.0.0.0:8080");
  EXPECT_EQ(config.server().data_dir, "/home/ann/models");
  EXPECT_EQ(config.server().max_body, 2u << 20);
  EXPECT_EQ(config.server().stop_grace, std::chrono::seconds(5));
  EXPECT_THAT(config.engine().command, ElementsAre("/opt/x/llama-server"));
  EXPECT_EQ(config.memory().host_budget, 1'400'000'000u);
  const auto model = config.effective_for(id("qwen3-4b:q4"));
  EXPECT_EQ(model.service_class, domain::ServiceClass::voice);
  EXPECT_EQ(model.pinned, true);
  EXPECT_EQ(model.context, 8192u);
  EXPECT_EQ(model.keep_alive, KeepAlive{});
  EXPECT_EQ(model.slots, 1u);
  EXPECT_THAT(model.flags, ElementsAre("--threads", "4", "--no-repack"));
  const auto other = config.effective_for(id("other"));
  EXPECT_EQ(other.service_class, domain::ServiceClass::background);
  EXPECT_EQ(other.keep_alive, KeepAlive{std::chrono::minutes(5)});
  EXPECT_EQ(other.slots, 2u);
}

TEST(Config, ExactAnswersTakeOneSlotUnlessMoreAreAskedFor) {
  const auto slots = [](const char* text) { return parsed(text).value().effective_for(id("any")).slots; };
  EXPECT_EQ(slots("[prefix]\nexact = true\n"), 1U);
  EXPECT_EQ(slots("[prefix]\nexact = true\n[defaults]\nslots = 3\n"), 3U);
  EXPECT_EQ(slots(""), std::nullopt);
}

TEST(Config, ExactAnswersNeedPrefixes) {
  const auto config = parsed("[prefix]\nexact = true\nenabled = false\n");
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message, HasSubstr("exact in [prefix] needs enabled: leave out enabled = false"));
  EXPECT_TRUE(parsed("[prefix]\nexact = false\nenabled = false\n"));
}

TEST(Config, AnEnginePathIsACommandOfOneWord) {
  EXPECT_THAT(parsed("engine.path = \"/usr/bin/llama-server\"").value().engine().command,
              ElementsAre("/usr/bin/llama-server"));
}

TEST(Config, NamesTheUnknownKeyItsPlaceAndItsNeighbour) {
  EXPECT_EQ(error_of("# mine\n[server]\nlistn = \"127.0.0.1:1\"\n"),
            "hearth.toml:3:1: unknown key \"listn\" in [server]; did you mean \"listen\"? allowed: listen, data_dir, "
            "api_key, "
            "allow_remote_without_key, max_body, stop_grace");
}

TEST(Config, CountsTheOtherFaults) {
  EXPECT_THAT(error_of("[server]\nmax_body = true\nzzz = 1\n[defaults]\nslots = 0\n"),
              testing::AllOf(testing::StartsWith("hearth.toml:2:12: max_body in [server]: must be a size"),
                             testing::EndsWith(" (and 2 more)")));
}

struct BadCase {
  const char* text;
  const char* told;
};

TEST(Config, RefusesBadValuesAndSaysWhatIsAllowed) {
  for (const auto& [text, told] : {
           BadCase{"[servr]\n",
                   "1:2: unknown section \"servr\"; did you mean \"server\"? sections: server, engine, memory, "
                   "residency, classes, defaults, models"},
           BadCase{"listen = \"127.0.0.1:1\"", "1:1: unknown key \"listen\""},
           BadCase{"server = 3", "server must be a section: write [server]"},
           BadCase{"[[server]]\n", "server must be a section"},
           BadCase{"[server]\nlisten = \"here\"", "2:10: listen in [server]: \"here\" is not an address"},
           BadCase{"[server]\nlisten = 11434", "must be a string"},
           BadCase{"[server]\ndata_dir = \"models\"", "must be an absolute path"},
           BadCase{"[server]\ndata_dir = \"\"", "not empty"},
           BadCase{"[server]\ndata_dir = \"/a\\u0000b\"", "no control characters"},
           BadCase{"[server]\napi_key = \"a b\"", "visible ASCII"},
           BadCase{"[server]\napi_key = \"a\\r\\nx: y\"", "visible ASCII"},
           BadCase{"[server]\nallow_remote_without_key = \"yes\"", "must be true or false"},
           BadCase{"[server]\nmax_body = -1", "must be a size"},
           BadCase{"[server]\nmax_body = 0", "from 1KiB to 4GB"},
           BadCase{"[server]\nmax_body = 9223372036854775807", "from 1KiB to 4GB"},
           BadCase{"[server]\nmax_body = \"many\"", "\"many\" is not a size"},
           BadCase{"[server]\nstop_grace = \"2h\"", "at most 1h"},
           BadCase{"[server]\nstop_grace = nan", "not a duration"},
           BadCase{"[server]\nstop_grace = -1", "not a duration"},
           BadCase{"[engine]\ncommand = []", "must name a program first"},
           BadCase{"[engine]\ncommand = \"llama-server\"", "must be a list of strings"},
           BadCase{"[engine]\ncommand = [\"a\", 1]", "must be a list of strings"},
           BadCase{"[engine]\ncommand = [\"a\\u0000\"]", "must name a program first"},
           BadCase{"[engine]\ncommand = [\"a\"]\npath = \"/b\"", "keep one of them"},
           BadCase{"[engine]\nstart_stall = 0", "must be more than 0"},
           BadCase{"[memory]\nhost_budget = \"1.4 quadrillion\"", "is not a size"},
           BadCase{"[defaults]\nclass = \"interactiv\"",
                   "unknown class; did you mean \"interactive\"? allowed: voice, interactive, background"},
           BadCase{"[residency]\nschedules = [\"daily 25:00: a resident\"]",
                   "2:14: the schedule \"daily 25:00: a resident\""},
           BadCase{"[residency]\nschedules = \"daily\"", "2:13: schedules in [residency]: must be a list of strings"},
           BadCase{"[residency]\nprewarm = 1", "prewarm in [residency]"},
           BadCase{"[classes.voise]\n", "1:10: unknown class \"voise\" in [classes]; did you mean \"voice\"?"},
           BadCase{"[classes]\nvoice = 1", "must be a section: write [classes.voice]"},
           BadCase{"[classes.voice]\nmax_cold_ttft = 0", "max_cold_ttft in [classes.voice]: must be more than 0"},
           BadCase{"[defaults]\npinned = true", "unknown key \"pinned\" in [defaults]"},
           BadCase{"[defaults]\ncontext = 4096.0", "a whole number from 1 to"},
           BadCase{"[defaults]\nslots = 100000", "a whole number from 1 to 256"},
           BadCase{"[defaults]\nkeep_alive = true", "must be a duration"},
           BadCase{"[defaults]\nflags = [\"--port\", \"80\"]",
                   "2:9: flags in [defaults]: flag \"--port\" is not yours to set"},
           BadCase{"[models.\"../x\"]\n", "1:9: \"../x\" is not a model name"},
           BadCase{"[models]\na = 1", "must be a section: write [models.\"a\"]"},
           BadCase{"[models.a]\n[models.A]\n", "is named twice"},
           BadCase{"[models.a]\nvulkan = true", "unknown key \"vulkan\" in [models.\"a\"]"},
           BadCase{"[server]\nlisten = ", "hearth.toml:2:"},
           BadCase{"[server]\nlisten = \"a\"\nlisten = \"b\"", "hearth.toml:3:"},
           BadCase{"\xff\xfe", "hearth.toml:1:"},
       }) {
    EXPECT_THAT(error_of(text), HasSubstr(told)) << text;
    EXPECT_THAT(error_of(text), testing::StartsWith("hearth.toml:")) << text;
    EXPECT_THAT(error_of(text), testing::Not(HasSubstr("\n"))) << text;
  }
}

TEST(Config, SurvivesNonsenseOfAnySize) {
  EXPECT_NE(error_of(std::string(900'000, '[')), "accepted");
  EXPECT_NE(error_of("a = " + std::string(500'000, '[')), "accepted");
  EXPECT_NE(error_of(std::string(10'000, '\0')), "accepted");
  EXPECT_LT(error_of("[server]\n" + std::string(800'000, 'k') + " = 1").size(), 1000u);
  EXPECT_LT(error_of("[server]\nlisten = \"" + std::string(800'000, 'k') + "\"").size(), 1000u);
}

TEST(Config, OtherMachinesNeedAKeyOrAWord) {
  EXPECT_THAT(
      error_of("[server]\nlisten = \"0.0.0.0:80\""),
      testing::StartsWith(
          "hearth.toml:2:10: listening on 0.0.0.0:80 lets other machines in and no API key is set; set api_key"));
  EXPECT_TRUE(parsed("[server]\nlisten = \"0.0.0.0:80\"\napi_key = \"k\""));
  EXPECT_TRUE(parsed("[server]\nlisten = \"0.0.0.0:80\"\nallow_remote_without_key = true"));
  EXPECT_THAT(error_of("", {.listen = "[::]:80", .data_dir = {}}),
              testing::StartsWith("--listen: listening on [::]:80"));
  EXPECT_TRUE(parsed("[server]\nlisten = \"0.0.0.0:80\"", {.listen = "127.0.0.1:80", .data_dir = {}}));
}

TEST(Config, TheCommandLineOverridesTheFile) {
  const auto config =
      parsed("[server]\nlisten = \"127.0.0.1:1\"\ndata_dir = \"/a\"", {.listen = "127.0.0.1:2", .data_dir = "/b/../c"})
          .value();
  EXPECT_EQ(config.server().listen.port, 2);
  EXPECT_EQ(config.server().data_dir, "/c");
  EXPECT_THAT(error_of("", {.listen = "x", .data_dir = {}}), testing::StartsWith("--listen: \"x\" is not an address"));
  EXPECT_TRUE(parsed("", {.listen = {}, .data_dir = "here"})->server().data_dir.is_absolute());
}

TEST(Config, WithoutAHomeTheDataLiesInVar) {
  const auto nothing = [](const char*) -> std::optional<std::string> { return std::nullopt; };
  EXPECT_EQ(parse_config("", "", {}, nothing).value().server().data_dir, "/var/lib/hearth");
  EXPECT_FALSE(parse_config("server.data_dir = \"~/x\"", "f", {}, nothing));
}

TEST(Config, SchedulesAndWhatAClassIsPromised) {
  const auto config = parse_config(R"(
[residency]
prewarm = false
prewarm_memory = "2GB"
schedules = ["weekdays 06:45: voice resident", "sat,sun 09:00-12:00: qwen3-4b resident"]
[classes.voice]
max_cold_ttft = "1500ms"
[history]
keep = 0
)",
                                   "hearth.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_FALSE(config->residency().prewarm);
  EXPECT_EQ(config->residency().prewarm_memory, 2'000'000'000U);
  ASSERT_EQ(config->residency().schedules.size(), 2U);
  EXPECT_EQ(config->residency().schedules[0].service_class, domain::ServiceClass::voice);
  EXPECT_EQ(config->residency().schedules[1].minutes, 180);
  EXPECT_EQ(config->for_class(domain::ServiceClass::voice).max_cold_ttft, Milliseconds(1500));
  EXPECT_FALSE(config->for_class(domain::ServiceClass::interactive).max_cold_ttft);
  EXPECT_EQ(config->history().keep.count(), 0);
}

class ConfigFile : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  test::TempFolder own_;
  std::filesystem::path folder_ = own_.path();
};

TEST_F(ConfigFile, IsReadAndNamedInErrors) {
  EXPECT_EQ(load_config(write("a.toml", "[server]\nlisten = \"127.0.0.1:7\"")).value().server().listen.port, 7);
  const auto bad = write("bad.toml", "x = 1");
  EXPECT_THAT(load_config(bad).error().message, testing::StartsWith(bad.string() + ":1:1: unknown key \"x\""));
}

TEST_F(ConfigFile, MissingFoldersAndGiantsAreRefused) {
  EXPECT_EQ(load_config(folder_ / "none.toml").error().code, base::ErrorCode::not_found);
  EXPECT_THAT(load_config(folder_).error().message, HasSubstr("Is a directory"));
  EXPECT_EQ(load_config("/dev/zero").error().code, base::ErrorCode::too_large);
  EXPECT_EQ(find_config(folder_ / "none.toml").error().code, base::ErrorCode::not_found);
}

TEST_F(ConfigFile, IsFoundWhereTheEnvironmentSays) {
  write("hearth/hearth.toml", "[server]\nlisten = \"127.0.0.1:9\"");
  const auto environment = [this](const char* name) -> std::optional<std::string> {
    if (std::string_view(name) == "XDG_CONFIG_HOME") return folder_.string();
    return std::nullopt;
  };
  EXPECT_EQ(find_config(std::nullopt, {}, environment).value().server().listen.port, 9);
}

TEST_F(ConfigFile, OneThatIsThereAndCannotBeReadIsNotPassedOver) {
  const auto file = folder_ / "hearth" / "hearth.toml";
  std::filesystem::create_directories(file.parent_path());
  std::filesystem::create_symlink(file, file);  // as root nothing else is refused
  const auto environment = [this](const char* name) -> std::optional<std::string> {
    if (std::string_view(name) == "XDG_CONFIG_HOME") return folder_.string();
    return std::nullopt;
  };
  const auto refused = find_config(std::nullopt, {}, environment);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr(file.string()), HasSubstr("Too many levels")));
}

}  // namespace
}  // namespace hearth::config
