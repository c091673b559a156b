// The commands but `run`, from arguments to output, against a scripted server.
#include "cli/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <semaphore>

#include "cli/test_world.h"

namespace hearth::cli {
namespace {

using client::ScriptedServer;
using domain::Json;
using testing::HasSubstr;

ScriptedServer::Reply native(const ScriptedServer::Request& request) {
  const std::string models = std::string("{\"models\":[") + kReadyModel + "," + kFailedModel + "]}";
  if (request.method == "DELETE") return json_reply(204, "");
  if (request.method == "PUT")
    return json_reply(request.target == "/hearth/v1/models/old/content" ? 200 : 201, kFailedModel);
  if (request.target == "/hearth/v1/models") return json_reply(200, models);
  if (request.target == "/hearth/v1/models/qwen3-4b:q4_k_m") return json_reply(200, kReadyModel);
  if (request.target == "/hearth/v1/requests/req-1") return json_reply(200, kRequest);
  if (request.target == "/hearth/v1/requests?last=1")
    return json_reply(200, std::string("{\"requests\":[") + kRequest + "]}");
  if (request.target == "/hearth/v1/requests?last=2")
    return json_reply(200, std::string("{\"requests\":[") + kRequest + "," + kRequest + "]}");
  return json_reply(404, R"({"error":{"code":"model_not_found","message":"there is no model x; see `hearth list`"}})");
}

class Commands : public testing::Test {
 protected:
  Commands() { world_.talk_to(server_); }

  ScriptedServer server_{native};
  TestWorld world_;
};

TEST_F(Commands, ListPrintsATable) {
  EXPECT_EQ(world_.run({"list"}), 0);
  EXPECT_THAT(world_.out.str(), testing::StartsWith("NAME               SIZE  QUANTISATION"));
  EXPECT_EQ(world_.err.str(), "");
}

TEST_F(Commands, EveryAnswerIsOneJsonDocumentWhenAsked) {
  const std::string file = testing::TempDir() + "hearth-json-" + std::to_string(getpid());
  std::ofstream(file) << "GGUF";
  for (const auto& arguments : std::vector<std::vector<const char*>>{{"list", "--json"},
                                                                     {"show", "--json", "qwen3-4b:q4_k_m"},
                                                                     {"rm", "--json", "mini"},
                                                                     {"import", "--json", file.c_str(), "--name", "a"},
                                                                     {"ps", "--json"},
                                                                     {"explain", "--json"},
                                                                     {"explain", "--json", "req-1"},
                                                                     {"explain", "--json", "--last", "2"},
                                                                     {"version", "--json"}}) {
    TestWorld world;
    world.talk_to(server_);
    EXPECT_EQ(world.run(arguments), 0) << testing::PrintToString(arguments);
    EXPECT_TRUE(Json::accept(world.out.str())) << testing::PrintToString(arguments) << world.out.str();
    EXPECT_TRUE(world.json().is_object());
    EXPECT_EQ(world.err.str(), "");
  }
  std::filesystem::remove(file);
}

TEST_F(Commands, RmNamesWhatItDeleted) {
  EXPECT_EQ(world_.run({"rm", "Mini"}), 0);
  EXPECT_EQ(world_.out.str(), "mini is deleted\n");
  EXPECT_EQ(server_.seen().at(0).target, "/hearth/v1/models/mini");
}

TEST_F(Commands, ImportUploadsUnderTheFilesName) {
  const std::string file = testing::TempDir() + "Hearth Mini.gguf";
  std::ofstream(file) << "GGUF";
  EXPECT_EQ(world_.run({"import", file.c_str()}), 0);
  EXPECT_EQ(world_.out.str(), "hearth-mini is imported, 4.0 MB\n");
  EXPECT_EQ(world_.run({"import", file.c_str(), "--name", "OLD"}), 0);
  EXPECT_THAT(world_.out.str(), HasSubstr("old was there already with the same content, 4.0 MB\n"));
  std::filesystem::remove(file);
  EXPECT_EQ(server_.seen().at(0).method + " " + server_.seen().at(0).target,
            "PUT /hearth/v1/models/hearth-mini/content");
  EXPECT_EQ(server_.seen().at(0).body, "GGUF");
}

TEST_F(Commands, ImportRefusesWhatIsNoFileOrName) {
  EXPECT_EQ(world_.run({"import", "/nonexistent/a.gguf"}), 1);
  EXPECT_EQ(world_.err.str(),
            "hearth: importing /nonexistent/a.gguf: opening /nonexistent/a.gguf: No such file or directory\n");
  EXPECT_EQ(world_.run({"import", "/nonexistent/.gguf"}), 1);
  EXPECT_THAT(world_.err.str(), HasSubstr("give one with --name"));
  EXPECT_EQ(world_.run({"import", "/nonexistent/a", "--name", "../b"}), 1);
}

TEST_F(Commands, PsShowsLayersAndWatchesUntilStopped) {
  EXPECT_EQ(world_.run({"ps"}), 0);
  EXPECT_THAT(world_.out.str(), HasSubstr("warm 2.5 GB  partial 703 MB/2.5 GB  unknown"));
  world_.pauses = 2;
  EXPECT_EQ(world_.run({"ps", "--watch"}), 0);
  EXPECT_EQ(server_.seen().size(), 4u);
}

TEST_F(Commands, ExplainDrawsOneOrMore) {
  for (const auto& arguments :
       std::vector<std::vector<const char*>>{{"explain"}, {"explain", "req-1"}, {"explain", "--last", "2"}}) {
    TestWorld world;
    world.talk_to(server_);
    EXPECT_EQ(world.run(arguments), 0) << world.err.str();
    EXPECT_THAT(world.out.str(), HasSubstr("process_start"));
  }
}

TEST_F(Commands, ErrorsAreOneSentenceAndOne) {
  EXPECT_EQ(world_.run({"show", "x"}), 1);
  EXPECT_EQ(world_.err.str(), "hearth: there is no model x; see `hearth list`\n");
  EXPECT_EQ(world_.out.str(), "");
}

TEST_F(Commands, NamesForCompletionAreOnlyNames) {
  EXPECT_EQ(world_.run({"__models"}), 0);
  EXPECT_EQ(world_.out.str(), "qwen3-4b:q4_k_m\nmini\n");
}

TEST(EmptyServer, SaysHowToBegin) {
  ScriptedServer server([](const ScriptedServer::Request& request) {
    return json_reply(200, request.target == "/hearth/v1/models" ? R"({"models":[]})" : R"({"requests":[]})");
  });
  for (const auto& [command, status] : {std::pair{"list", 0}, {"ps", 0}, {"explain", 1}}) {
    TestWorld world;
    world.talk_to(server);
    EXPECT_EQ(world.run({command}), status);
    EXPECT_THAT(world.out.str() + world.err.str(),
                testing::AnyOf(HasSubstr("`hearth import FILE`"), HasSubstr("`hearth run MODEL`")));
  }
}

TEST(StrangeServer, IsDoubted) {
  ScriptedServer server([](const auto&) { return json_reply(200, "[]"); });
  for (const char* command : {"list", "ps", "explain", "__models"}) {
    TestWorld world;
    world.talk_to(server);
    EXPECT_EQ(world.run({command}), 1);
    EXPECT_THAT(world.err.str(), HasSubstr("is it a Hearth server?"));
  }
}

// Three seconds go by with each look at it.
class HastyClock final : public base::Clock {
 public:
  [[nodiscard]] base::Mono now() const override { return now_ += std::chrono::seconds(3); }
  [[nodiscard]] base::Wall wall() const override { return {}; }

 private:
  mutable base::Mono now_{std::chrono::hours(1)};
};

// Tells when something is written to it.
class Heard : public std::stringbuf {
 public:
  std::counting_semaphore<> writes{0};

 private:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const auto written = std::stringbuf::xsputn(text, size);
    writes.release();
    return written;
  }
};

TEST(Verify, EachModelHasItsOwnProgress) {
  Heard err;
  ScriptedServer server([&err](const ScriptedServer::Request& request) {
    if (request.method == "GET") return native(request);
    while (err.writes.try_acquire()) {
    }
    EXPECT_TRUE(err.writes.try_acquire_for(std::chrono::seconds(5))) << request.target;
    return json_reply(200, R"({"id":"m","sound":true})");
  });
  TestWorld world;
  world.talk_to(server);
  std::ostream told(&err);
  const HastyClock clock;
  Console console{world.in, world.out, told, clock, world.console.environment, world.console.pause};
  const char* arguments[] = {"hearth", "verify"};
  EXPECT_EQ(run_in(console, 2, arguments, {}), 0);
  EXPECT_THAT(err.str(), AllOf(HasSubstr("verifying qwen3-4b:q4_k_m"), HasSubstr("verifying mini")));
}

TEST(LocalCommand, ServeGetsItsOptionsAndGivesTheStatus) {
  TestWorld world;
  world.local.serve = [](const ServeOptions& options) {
    return options.listen == "127.0.0.1:0" && options.check_config ? 3 : 4;
  };
  EXPECT_EQ(world.run({"serve", "--listen", "127.0.0.1:0", "--check-config"}), 3);
}

domain::MachineView machine_with(domain::CapabilityState engine) {
  domain::MachineView machine;
  machine.processors = 2;
  machine.capabilities.push_back({"cachestat", domain::CapabilityState::works, "the kernel answers it", "never shown"});
  machine.capabilities.push_back({"engine", engine, "no llama-server is found", "run `hearth engine install`"});
  return machine;
}

TEST(LocalCommand, DoctorNamesTheFixAndFailsWithoutAnEngine) {
  TestWorld world;
  world.local.doctor = [](const EngineOptions&) { return machine_with(domain::CapabilityState::absent); };
  EXPECT_EQ(world.run({"doctor"}), 1);
  EXPECT_EQ(world.out.str(),
            "NAME       STATE   WHY\n"
            "cachestat  works   the kernel answers it\n"
            "engine     absent  no llama-server is found\n"
            "                   fix: run `hearth engine install`\n");
  TestWorld good;
  good.local.doctor = [](const EngineOptions&) { return machine_with(domain::CapabilityState::degraded); };
  EXPECT_EQ(good.run({"doctor", "--json"}), 0);
  EXPECT_EQ(good.json()["capabilities"].size(), 2u);
}

domain::EngineInfo some_engine() {
  domain::EngineInfo engine;
  engine.id = "llama-server-1";
  engine.version = "0.7.0";
  engine.origin = "installed";
  engine.command = {"/opt/llama-server"};
  engine.backends = {"cpu"};
  engine.tier.present = {"posix_memalign"};
  engine.tier.missing = {"llama_process: not imported", "llama_tokenize: not imported"};
  return engine;
}

TEST(LocalCommand, EnginesAreListedAndInstalled) {
  TestWorld world;
  world.local.engine_list = [](const EngineOptions& options) -> base::Result<std::vector<domain::EngineInfo>> {
    if (options.data_dir == "empty") return std::vector<domain::EngineInfo>{};
    return std::vector{some_engine()};
  };
  world.local.engine_install = [](const EngineOptions&, const Progress& progress) -> base::Result<domain::EngineInfo> {
    progress({"fetching"});
    return some_engine();
  };
  EXPECT_EQ(world.run({"engine", "list"}), 0);
  EXPECT_EQ(world.out.str(),
            "ID              VERSION  BUILD  ORIGIN     BACKENDS  TIER           COMMAND\n"
            "llama-server-1  0.7.0    -      installed  cpu       1 of 3 points  /opt/llama-server\n"
            "llama-server-1: the tier library lacks llama_process: not imported (and 1 more; --json tells)\n");
  world.out.str("");
  EXPECT_EQ(world.run({"engine", "list", "--json"}), 0);
  EXPECT_EQ(world.json()["engines"][0]["command"], Json::array({"/opt/llama-server"}));
  world.out.str("");
  EXPECT_EQ(world.run({"engine", "list", "--data-dir", "empty"}), 0);
  EXPECT_THAT(world.out.str(), HasSubstr("`hearth engine install`"));
  world.out.str("");
  EXPECT_EQ(world.run({"engine", "install"}), 0);
  EXPECT_EQ(world.out.str(), "llama-server-1 is ready (installed)\n");
}

TEST(LocalCommand, FailuresAreOne) {
  TestWorld world;
  for (const auto& arguments :
       std::vector<std::vector<const char*>>{{"serve"}, {"doctor"}, {"engine", "list"}, {"engine", "install"}}) {
    EXPECT_EQ(world.run(arguments), 1);
  }
  world.local.engine_install = [](const EngineOptions&, const Progress&) -> base::Result<domain::EngineInfo> {
    return base::fail(base::ErrorCode::no_space, "the disk is full");
  };
  world.err.str("");
  EXPECT_EQ(world.run({"engine", "install"}), 1);
  EXPECT_EQ(world.err.str(), "hearth: the disk is full\n");
}

TEST(Output, ThatCannotBeWrittenIsAFailure) {
  TestWorld world;
  world.out.setstate(std::ios::badbit);
  EXPECT_EQ(world.run({"version"}), 1);
  EXPECT_THAT(world.err.str(), HasSubstr("could not be written"));
}

TEST(Usage, GoesToTheRightStreamWithTheRightStatus) {
  TestWorld world;
  EXPECT_EQ(world.run({"nonsense"}), 2);
  EXPECT_EQ(world.out.str(), "");
  EXPECT_EQ(world.run({"run", "--help"}), 0);
  EXPECT_THAT(world.out.str(), HasSubstr("--max-tokens"));
}

TEST(PublicRun, WorksOnPlainStreams) {
  std::ostringstream out;
  std::ostringstream err;
  const char* arguments[] = {"hearth", "version"};
  EXPECT_EQ(run(2, arguments, {}, out, err), 0);
  EXPECT_EQ(out.str(), "hearth " + std::string(version()) + "\n");
}

}  // namespace
}  // namespace hearth::cli
