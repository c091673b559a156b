// `hearth run` against a scripted server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/test_world.h"

namespace hearth::cli {
namespace {

using client::event_stream;
using client::ScriptedServer;
using domain::Json;
using testing::HasSubstr;

std::string chunk(std::string_view text) {
  return Json{{"choices", Json::array({{{"delta", {{"content", text}}}, {"finish_reason", nullptr}}})}}.dump();
}
std::string last_chunk() { return R"({"choices":[{"delta":{},"finish_reason":"stop"}]})"; }

// Answers everything that `run` asks; the record comes at the `record_after`th try.
class RunServer {
 public:
  explicit RunServer(std::vector<std::string> events, int record_after = 1)
      : server_([this, events = std::move(events), record_after](const ScriptedServer::Request& request) {
          if (request.target == "/v1/chat/completions") return event_stream(events, "req-1");
          if (request.target == "/hearth/v1/models/mini") return json_reply(200, kFailedModel);
          if (request.target == "/hearth/v1/requests/req-1" && ++record_asked_ >= record_after)
            return json_reply(200, kRequest);
          return json_reply(404, R"({"error":{"code":"not_found","message":"no such thing"}})");
        }) {}
  [[nodiscard]] const ScriptedServer& server() const { return server_; }
  [[nodiscard]] Json question() const {
    for (const auto& request : server_.seen()) {
      if (request.method == "POST") return Json::parse(request.body);
    }
    return nullptr;
  }

 private:
  int record_asked_ = 0;  // touched by the server's thread only
  ScriptedServer server_;
};

TEST(Run, PrintsTheAnswerThenItsTimeline) {
  const RunServer fake({R"({"choices":[{"delta":{"role":"assistant","content":null}}]})", chunk("The light "),
                        chunk("is on."), last_chunk(), "[DONE]"});
  TestWorld world;
  world.talk_to(fake.server());
  ASSERT_EQ(world.run({"run", "mini", "turn on", "the light", "--system", "be brief", "--temperature", "0.5",
                       "--max-tokens", "9"}),
            0)
      << world.err.str();
  EXPECT_THAT(world.out.str(), testing::StartsWith("The light is on.\n\n"));
  EXPECT_THAT(world.out.str(), HasSubstr("process_start"));
  EXPECT_EQ(world.err.str(), "");
  EXPECT_EQ(fake.question(), Json::parse(R"({"model":"mini","messages":[{"role":"system","content":"be brief"},
      {"role":"user","content":"turn on the light"}],"stream":true,"temperature":0.5,"max_tokens":9})"));
}

TEST(Run, TakesThePromptFromStandardInputAndSetsNothingElse) {
  const RunServer fake({chunk("Yes."), "[DONE]"});
  TestWorld world;
  world.talk_to(fake.server());
  world.in.str("is it\nwarm?\n");
  ASSERT_EQ(world.run({"run", "mini"}), 0) << world.err.str();
  EXPECT_EQ(fake.question(),
            Json::parse(R"({"model":"mini","messages":[{"role":"user","content":"is it\nwarm?\n"}],"stream":true})"));
}

TEST(Run, PrintsOneJsonDocument) {
  const RunServer fake({chunk("A\x1b[2J"), last_chunk(), "[DONE]"});
  TestWorld world;
  world.talk_to(fake.server());
  ASSERT_EQ(world.run({"run", "--json", "mini", "x"}), 0);
  EXPECT_EQ(world.json()["answer"], "A\x1b[2J");
  EXPECT_EQ(world.json()["request"]["id"], "req-1");
}

TEST(Run, KeepsControlCharactersOffATerminal) {
  for (const bool terminal : {true, false}) {
    const RunServer fake({chunk("a\x1b]0;x\x07"
                                "b\n\tc"),
                          "[DONE]"});
    TestWorld world;
    world.talk_to(fake.server());
    world.console.out_is_terminal = terminal;
    ASSERT_EQ(world.run({"run", "mini", "x"}), 0);
    EXPECT_THAT(world.out.str(), testing::StartsWith(terminal ? "a]0;xb\n\tc\n"
                                                              : "a\x1b]0;x\x07"
                                                                "b\n\tc\n"));
  }
}

TEST(Run, WaitsForTheRecordAndDoesWithoutIt) {
  const RunServer late({chunk("Yes."), "[DONE]"}, 5);
  TestWorld world;
  world.talk_to(late.server());
  ASSERT_EQ(world.run({"run", "mini", "x"}), 0);
  EXPECT_THAT(world.out.str(), HasSubstr("process_start"));

  const RunServer never({chunk("Yes."), "[DONE]"}, 1000);
  TestWorld other;
  other.talk_to(never.server());
  ASSERT_EQ(other.run({"run", "--json", "mini", "x"}), 0);
  EXPECT_TRUE(other.json()["request"].is_null());
  EXPECT_EQ(other.err.str(), "hearth: the timeline is not known: no such thing\n");
}

TEST(Run, FailsWhenTheAnswerDoes) {
  struct Case {
    std::vector<std::string> events;
    const char* told;
  };
  for (const auto& [events, told] : {Case{{chunk("Ye")}, "hearth: the answer broke off before its end\n"},
                                     Case{{chunk("Ye"), R"({"error":{"message":"out of\u001b[2J memory"}})"},
                                          "hearth: the answer failed: out of?[2J memory\n"},
                                     Case{{R"({"error":"x"})"}, "hearth: the answer failed: x\n"},
                                     Case{{"garbage", "[1]", "{\"choices\":7}", "{\"choices\":[]}"},
                                          "hearth: the answer broke off before its end\n"}}) {
    const RunServer fake(events);
    TestWorld world;
    world.talk_to(fake.server());
    EXPECT_EQ(world.run({"run", "mini", "x"}), 1);
    EXPECT_EQ(world.err.str(), told);
  }
}

TEST(Run, JsonPrintsNothingWhenItFails) {
  const RunServer fake({chunk("Ye")});
  TestWorld world;
  world.talk_to(fake.server());
  EXPECT_EQ(world.run({"run", "--json", "mini", "x"}), 1);
  EXPECT_EQ(world.out.str(), "");
}

TEST(Run, RefusesPromptsThatAreNone) {
  for (const auto& [prompt, told] :
       {std::pair{" \n", "the prompt is empty"}, {"a\xff", "the prompt is not UTF-8 text"}}) {
    TestWorld world;
    world.in.str(prompt);
    EXPECT_EQ(world.run({"run", "mini"}), 1);
    EXPECT_THAT(world.err.str(), HasSubstr(told));
  }
  TestWorld world;
  EXPECT_EQ(world.run({"run", "../mini", "x"}), 1);
  EXPECT_THAT(world.err.str(), HasSubstr("\"../mini\" is not a model name"));
}

TEST(Run, TellsAModelThatIsNotThere) {
  ScriptedServer server([](const auto&) {
    return json_reply(404, R"({"error":{"code":"model_not_found","message":"there is no model x"}})");
  });
  TestWorld world;
  world.talk_to(server);
  EXPECT_EQ(world.run({"run", "x", "y"}), 1);
  EXPECT_EQ(world.err.str(), "hearth: there is no model x\n");
}

}  // namespace
}  // namespace hearth::cli
