#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "cli/test_world.h"

namespace hearth::cli {
namespace {

using client::ScriptedServer;
using domain::Json;
using testing::HasSubstr;

constexpr const char* kTrace =
    R"({"trace":"short","local_minute":420,"models":[{"id":"mini","class":"interactive","weights_gb":1,"context_gb":0.1,"overhead_gb":0.1}]}
{"at_ns":0,"model":0,"prompt":200,"generated":4}
{"at_ns":2000000000,"model":0,"prompt":200,"generated":4}
)";

Json stage(const char* name, double ms) {
  return {{"stage", name}, {"start_ms", 0}, {"ms", ms}, {"critical_ms", ms}, {"bytes", nullptr}, {"source", "hearth"}};
}

// A server with one model: a start takes 800 ms, a token of the prompt 1 ms, a token of the answer 20 ms.
class OneModel {
 public:
  ScriptedServer::Reply answer(const ScriptedServer::Request& request) {
    if (request.target == "/v1/completions") return complete(Json::parse(request.body));
    if (request.target.starts_with("/hearth/v1/requests/"))
      return json_reply(200, records_[request.target.substr(20)].dump());
    if (request.target == "/hearth/v1/machine")
      return json_reply(200, R"({"memory": {"reserved": 0, "free": 2000000000}})");
    if (request.target.starts_with("/hearth/v1/events?since="))
      return json_reply(200, Json{{"events", events_since(std::stoull(request.target.substr(24)))}}.dump());
    if (request.target == "/hearth/v1/models/mini/cool?wait=1") return cool(Json::parse(request.body));
    if (request.target == "/hearth/v1/models/mini")
      return json_reply(200, R"({"id": "mini", "class": "voice", "memory": {"reserved": 1300000000}})");
    return json_reply(404, R"({"error": {"code": "model_not_found", "message": "there is none of that name"}})");
  }
  std::vector<Json> asked;
  int status = 200;  // of answers

 private:
  ScriptedServer::Reply complete(const Json& body) {
    if (status != 200) return json_reply(status, R"({"error": {"code": "does_not_fit", "message": "too large"}})");
    asked.push_back(body);
    const std::string id = "req-" + std::to_string(asked.size());
    const std::size_t tokens = body["prompt"].size();
    Json record = Json::parse(kRequest);
    record["id"] = id;
    record["class"] = "voice";
    record["ttft_ms"] = 50.0 + static_cast<double>(tokens) + (loaded_ ? 0 : 800);
    record["total_ms"] = record["ttft_ms"].get<double>() + 100;
    record["tokens"] = {{"prompt", tokens}, {"cached", 0}, {"generated", 4}};
    record["decode_tokens_per_s"] = 50;
    record["stages"] =
        Json::array({stage("process_start", loaded_ ? 0 : 800), stage("prefill", 50 + static_cast<double>(tokens))});
    if (!loaded_) tell("process_ready");
    loaded_ = true;
    records_[id] = record;
    return client::event_stream({R"({"choices": []})", "[DONE]"}, id);
  }
  ScriptedServer::Reply cool(const Json& body) {
    if (body["layer"] == "weights")
      return json_reply(501, R"({"error": {"code": "unsupported", "message": "it cannot hibernate"}})");
    if (!loaded_) return json_reply(503, R"({"error": {"code": "loading", "message": "model mini is not loaded"}})");
    loaded_ = false;
    tell("process_stopped");
    return json_reply(200, R"({"ms": 300})");
  }
  void tell(const char* what) {
    events_.push_back({{"id", events_.size() + 1}, {"what", what}, {"model", "mini"}, {"by", nullptr}});
  }
  Json events_since(std::uint64_t id) {
    Json found = Json::array();
    for (std::size_t index = id; index < events_.size(); ++index)
      found.push_back(events_[index]);
    return found;
  }

  bool loaded_ = false;
  std::map<std::string, Json> records_;
  std::vector<Json> events_;
};

class LiveReplay : public testing::Test {
 protected:
  LiveReplay() {
    std::filesystem::create_directories(folder_);
    std::ofstream(path("short.jsonl")) << kTrace;
    world_.talk_to(server_);
    world_.console.pause = [this](std::chrono::milliseconds span) {
      world_.clock.advance(span);
      std::this_thread::yield();
      return true;
    };
  }
  ~LiveReplay() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }
  int replay(std::vector<const char*> more) {
    trace_ = path("short.jsonl");
    std::vector<const char*> all = {"lab", "replay", "--live", "--trace", trace_.c_str(), "--policy", "hearth-demand"};
    all.insert(all.end(), more.begin(), more.end());
    return world_.run(all);
  }

  OneModel model_;
  ScriptedServer server_{[this](const ScriptedServer::Request& request) { return model_.answer(request); }};
  TestWorld world_;

 private:
  std::string trace_;
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("live-") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(LiveReplay, AgreesWithTheSimulationThatHasItsCosts) {
  ASSERT_EQ(replay({"--json"}), 0) << world_.err.str();
  const Json experiment = world_.json()["experiments"][0];
  EXPECT_EQ(experiment["memory"], 2'000'000'000);
  const Json& measured = experiment["measured"][0];
  EXPECT_EQ(measured["rungs"]["cold"]["ready_s"], 0.8);
  EXPECT_EQ(measured["rungs"]["serving"]["bytes"], 1'300'000'000);
  EXPECT_FALSE(measured["rungs"].contains("hibernated"));
  EXPECT_EQ(measured["prefill_per_s"], 1000);
  EXPECT_EQ(measured["decode_per_s"], 50);
  EXPECT_EQ(measured["stop_s"], 0.3);
  const Json& live = experiment["results"][0];
  const Json& simulated = experiment["results"][1];
  EXPECT_EQ(live["policy"], "live");
  for (const char* figure : {"requests", "cold_starts", "cold_start_s", "loads", "refused", "unfinished"})
    EXPECT_EQ(live[figure], simulated[figure]) << figure;
  EXPECT_EQ(live["classes"]["voice"], simulated["classes"]["voice"]) << "its class is the server's";
  EXPECT_EQ(live["cold_starts"], 1);
}

TEST_F(LiveReplay, AsksWhatTheTraceAsksAndStopsWhatItStarted) {
  ASSERT_EQ(replay({}), 0) << world_.err.str();
  EXPECT_THAT(world_.out.str(), HasSubstr("\nlive "));
  const Json& last = model_.asked.back();
  EXPECT_EQ(last["prompt"].size(), 200U);
  EXPECT_EQ(last["max_tokens"], 4);
  EXPECT_EQ(last["keep_alive"], "-1s");
  EXPECT_NE(last["prompt"], model_.asked[model_.asked.size() - 2]["prompt"]) << "nothing is reused";
  EXPECT_EQ(server_.seen().back().target, "/hearth/v1/models/mini/cool?wait=1");
}

TEST_F(LiveReplay, NamesAModelThatTheServerDoesNotHave) {
  EXPECT_EQ(replay({"--map", "mini=other"}), 1);
  EXPECT_THAT(world_.err.str(), HasSubstr("has no model other; name one that it has with --map other=MODEL"));
}

TEST_F(LiveReplay, TellsWhyItCouldNotMeasure) {
  model_.status = 507;
  EXPECT_EQ(replay({}), 1);
  EXPECT_THAT(world_.err.str(), HasSubstr("mini: too large"));
}

TEST_F(LiveReplay, NeedsARecordedHistory) {
  EXPECT_EQ(world_.run({"lab", "replay", "--live"}), 2);
  EXPECT_THAT(world_.err.str(), HasSubstr("--trace"));
}

}  // namespace
}  // namespace hearth::cli
