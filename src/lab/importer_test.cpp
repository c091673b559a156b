#include "lab/importer.h"

#include <gtest/gtest.h>

#include <sstream>

#include "lab/csv.h"
#include "policy/demand.h"

namespace hearth::lab {
namespace {

base::Result<Imported> read(TraceFormat format, const std::string& text, ImportOptions options = {}) {
  std::istringstream input(text);
  options.format = format;
  return import_trace(input, options);
}

std::string message_of(TraceFormat format, const std::string& text) {
  const auto result = read(format, text);
  return result ? std::string("read") : result.error().message;
}

double at_s(const Imported& imported, std::size_t index) {
  return static_cast<double>(imported.trace.requests.at(index).at_ns) / 1e9;
}

TEST(Importer, Azure2019CountsRequestsByTheMinute) {
  std::string header = "HashOwner,HashApp,HashFunction,Trigger";
  std::string first = "o,appone,f,http";
  std::string second = "o,apptwo,g,timer";
  for (int minute = 1; minute <= 1440; ++minute) {
    header += "," + std::to_string(minute);
    first += minute == 1 ? ",2" : minute == 1440 ? ",1" : ",0";
    second += minute == 61 ? ",3" : ",0";
  }
  const auto text = header + "\r\n" + first + "\r\n" + second + "\r\n";
  const auto imported = read(TraceFormat::azure2019, text);
  ASSERT_TRUE(imported) << message_of(TraceFormat::azure2019, text);
  ASSERT_EQ(imported->trace.requests.size(), 6U);
  EXPECT_EQ(imported->trace.models.size(), 2U);
  EXPECT_EQ(imported->trace.models[0].id.text(), "appone");
  EXPECT_LT(at_s(*imported, 1), 60);
  EXPECT_GE(at_s(*imported, 2), 3600);
  EXPECT_LT(at_s(*imported, 4), 3660);
  EXPECT_GE(at_s(*imported, 5), 1439 * 60);
  const auto again = read(TraceFormat::azure2019, text);
  EXPECT_EQ(again->trace.requests[0].at_ns, imported->trace.requests[0].at_ns) << "seeded";
}

TEST(Importer, Azure2021BeginsADurationBeforeItsEnd) {
  const auto imported = read(TraceFormat::azure2021,
                             "app,func,end_timestamp,duration\n"
                             "a1,f1,10.5,2.5\n"
                             "b2,f2,9.0,8.75\n"
                             "a1,f1,0.25,0.5\n");
  ASSERT_TRUE(imported);
  ASSERT_EQ(imported->trace.requests.size(), 3U);
  EXPECT_EQ(at_s(*imported, 0), 0) << "not before the trace began";
  EXPECT_EQ(at_s(*imported, 1), 0.25);
  EXPECT_EQ(at_s(*imported, 2), 8);
  EXPECT_FLOAT_EQ(imported->trace.requests[2].busy_s, 2.5F);
}

TEST(Importer, AzureLlmCrossesMidnightAndKnowsTheWeekday) {
  const auto imported = read(TraceFormat::azurellm,
                             "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                             "2023-11-16 23:59:59.5000000,374,44\n"
                             "2023-11-17 00:00:01.2500000,396,0\n",
                             {.name = "code"});
  ASSERT_TRUE(imported);
  ASSERT_EQ(imported->trace.models.size(), 1U);
  EXPECT_EQ(imported->trace.models[0].id.text(), "code");
  EXPECT_EQ(at_s(*imported, 0), 0);
  EXPECT_NEAR(at_s(*imported, 1), 1.75, 1e-5);
  EXPECT_EQ(imported->trace.requests[1].generated_tokens, 0U);
  EXPECT_EQ(imported->trace.local_minute % policy::kMinutesPerWeek, 4 * 24 * 60 - 1) << "the last minute of a Thursday";
  const auto zoned = read(TraceFormat::azurellm,
                          "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                          "2024-05-10 00:00:00.009930+00:00,2162,5\n");
  EXPECT_TRUE(zoned);
}

TEST(Importer, BurstGptLeavesFailuresOut) {
  const auto imported = read(TraceFormat::burstgpt,
                             "Timestamp,Session ID,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                             "5,s,ChatGPT,472,18,490,Conversation log\n"
                             "45,s,GPT-4,1087,230,1317,API log\n"
                             "118,s,ChatGPT,417,0,417,Conversation log\n");
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->trace.requests.size(), 2U);
  EXPECT_EQ(imported->failures, 1U);
  EXPECT_EQ(imported->trace.models[1].id.text(), "gpt-4");
  EXPECT_EQ(imported->trace.requests[1].prompt_tokens, 1087U);
}

TEST(Importer, MooncakeIsLinesOfJson) {
  const auto imported =
      read(TraceFormat::mooncake,
           "{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0, 1]}\n"
           "{\"timestamp\": 3000, \"input_length\": 7322, \"output_length\": 490, \"hash_ids\": []}\n",
           {.speed = 2});
  ASSERT_TRUE(imported);
  EXPECT_EQ(at_s(*imported, 1), 1.5) << "twice as fast";
}

TEST(Importer, ChutesHasNullsAndOpenEnds) {
  const auto imported = read(
      TraceFormat::chutes,
      "invocation_id,function_name,chute_id,user_id,started_at,completed_at,it,ot,ct,ttft\n"
      "1,chat,0123456789abcdef0123456789abcdef,u,2025-03-01 10:00:00.5+00:00,2025-03-01 10:00:02.5+00:00,100,20,,0.5\n"
      "2,chat,other,u,2025-03-01 10:00:01+00:00,,10,0,,\n"
      "3,chat,other,u,2025-03-01 10:00:03+00:00,2025-03-01 10:00:04+00:00,null,null,null,null\n");
  ASSERT_TRUE(imported);
  ASSERT_EQ(imported->trace.requests.size(), 2U);
  EXPECT_EQ(imported->failures, 1U);
  EXPECT_FLOAT_EQ(imported->trace.requests[0].busy_s, 2);
  EXPECT_EQ(imported->trace.requests[1].prompt_tokens, 0U);
  EXPECT_EQ(imported->trace.models[0].id.text(), "0123456789abcdef01234567");
}

TEST(Importer, OurOwnFormatComesBackAsItWas) {
  Trace trace{.name = "mine", .local_minute = 77};
  trace.models.push_back({domain::ModelId::parse("a:q4").value(), domain::ServiceClass::voice, {0.5, 0.25, 0.125}});
  trace.requests = {{5, 0, 10, 20, 0}, {1'000'000'007, 0, 1, 2, 1.5F}};
  std::ostringstream written;
  write_trace(written, trace);
  const auto imported = read(TraceFormat::hearth, written.str());
  ASSERT_TRUE(imported) << message_of(TraceFormat::hearth, written.str());
  std::ostringstream again;
  write_trace(again, imported->trace);
  EXPECT_EQ(again.str(), written.str());
}

TEST(Importer, SaysWhatIsWrong) {
  EXPECT_EQ(message_of(TraceFormat::azurellm, "a,b\n"), "line 1 is not the header of a azurellm trace: \"a,b\"");
  EXPECT_EQ(message_of(TraceFormat::azurellm, "TIMESTAMP,ContextTokens,GeneratedTokens\n"),
            "no request of a azurellm trace was found in 1 lines");
  EXPECT_EQ(message_of(TraceFormat::azure2021, "app,func,end_timestamp,duration\na,f,1,1\nb\n"),
            "1 of 3 lines are not of a azure2021 trace");
  EXPECT_NE(message_of(TraceFormat::hearth, "{\"trace\": 1}\n").find("line 1 of the trace"), std::string::npos);
  EXPECT_NE(message_of(TraceFormat::hearth, "[[[").find("line 1 of the trace"), std::string::npos);
}

TEST(Importer, HostileNumbersAreSkipped) {
  std::string text = "app,func,end_timestamp,duration\n";
  for (int i = 0; i < 40; ++i)
    text += "a,f," + std::to_string(i + 1) + ",0.5\n";
  text += "a,f,nan,1\na,f,1e300,1\na,f,5,-3\n";
  const auto imported = read(TraceFormat::azure2021, text);
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->skipped, 3U);
  EXPECT_EQ(imported->trace.requests.size(), 40U);
}

TEST(Importer, KeepsTheMostUsedModelsAndMapsNames) {
  std::string text = "app,func,end_timestamp,duration\n";
  for (int i = 0; i < 30; ++i)
    text += "app" + std::to_string(i % 5 == 0 ? 9 : i % 3) + ",f,1,0\n";
  const auto imported = read(TraceFormat::azure2021, text, {.most_models = 2, .names = {{"app1", "chat"}}});
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->trace.models.size(), 2U);
  EXPECT_TRUE(std::ranges::any_of(imported->trace.models, [](const auto& model) { return model.id.text() == "chat"; }));
}

TEST(Importer, ItsOwnFormatTakesNamesAndSpeedToo) {
  const std::string text = R"({"trace":"t","local_minute":0,"models":[)"
                           R"({"id":"a","class":"voice","weights_gb":1,"context_gb":0.1,"overhead_gb":0.1},)"
                           R"({"id":"b","class":"voice","weights_gb":2,"context_gb":0.1,"overhead_gb":0.1},)"
                           R"({"id":"c","class":"voice","weights_gb":3,"context_gb":0.1,"overhead_gb":0.1}]})"
                           "\n"
                           R"({"at_ns":4000000000,"model":1,"prompt":1,"generated":1})"
                           "\n"
                           R"({"at_ns":8000000000,"model":2,"prompt":1,"generated":1})";
  const auto imported = read(TraceFormat::hearth, text, {.speed = 4, .names = {{"b", "a"}, {"c", "chat"}}});
  ASSERT_TRUE(imported);
  ASSERT_EQ(imported->trace.models.size(), 2U) << "two of one name are one";
  EXPECT_EQ(imported->trace.models[1].id.text(), "chat");
  EXPECT_EQ(imported->trace.requests[0].model, 0U);
  EXPECT_EQ(imported->trace.requests[1].model, 1U);
  EXPECT_DOUBLE_EQ(at_s(*imported, 1), 2);
  EXPECT_FALSE(read(TraceFormat::hearth, text, {.names = {{"b", "no name/"}}}));
}

TEST(Csv, QuotesAndTimes) {
  EXPECT_EQ(split_csv("a,\"b,\"\"c\"\"\",\r"), (std::vector<std::string>{"a", "b,\"c\"", ""}));
  EXPECT_EQ(timestamp_of("1970-01-01 00:00:01.5"), 1'500'000'000);
  EXPECT_EQ(timestamp_of("1970-01-01T02:00:00+02:00"), 0);
  for (const auto* wrong : {"", "2024-13-01 00:00:00", "2024-02-30 00:00:00", "2024-01-01", "2024-01-01 25:00:00",
                            "2024-01-01 00:00:00 EST", "9999-99-99 99:99:99", "2024-01-01 00:00:00."})
    EXPECT_FALSE(timestamp_of(wrong).has_value()) << wrong;
}

}  // namespace
}  // namespace hearth::lab
