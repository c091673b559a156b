#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "domain/json.h"

namespace hearth::domain {
namespace {

std::vector<StageSpan> every_stage() {
  std::vector<StageSpan> stages;
  for (const Stage stage : kAllStages) {
    const auto place = static_cast<double>(stage);
    stages.push_back({.stage = stage, .start_ms = place, .ms = place + 0.25, .critical_ms = place / 2, .bytes = {}});
  }
  stages[static_cast<std::size_t>(Stage::storage_read)].bytes = 703204704;
  stages[static_cast<std::size_t>(Stage::storage_read)].source = Source::kernel;
  return stages;
}

RequestRecord full_record() {
  RequestRecord record{
      .id = "01hzy",
      .model = "qwen3-4b:q4_k_m",
      .api = Api::ollama,
      .service_class = ServiceClass::voice,
      .status = 502,
      .error = "the engine \"died\"\n",
      .started_at = "2026-01-31T08:15:30.123Z",
      .ttft_ms = 412.0,
      .total_ms = 981.3,
      .tokens = TokenCounts{.prompt = 120, .cached = 96, .generated = 30},
      .decode_tokens_per_s = 41.2,
      .stages = every_stage(),
      .before = {},
      .cause = std::nullopt,
      .host = {.cpu_mhz = 3100, .gpu_mhz = {}, .load = 1.2, .psi_memory_some_avg10 = 0.0, .swap_in_bytes = 0}};
  for (const Layer layer : kAllLayers)
    at(record.before, layer) = reading_of(static_cast<base::Bytes>(layer), 5);
  at(record.before, Layer::weights).locked = 4096;
  at(record.before, Layer::power) = {};
  record.cause = Cause{
      .layer = Layer::weights,
      .ms = 310.2,
      .share = 0.75,
      .confidence = Confidence::measured,
      .because =
          {{.event = "hibernated", .at = "2026-01-31T08:00:00.000Z", .by = "memory pressure", .for_whom = "model b"},
           {.event = "never_started", .at = "2026-01-31T08:15:30.123Z", .by = {}, .for_whom = {}}},
      .bytes_read = 703204704,
      .major_faults = 1201,
      .remedy = {.action = RemedyAction::pin, .detail = "pin it", .saves_ms = 300}};
  return record;
}

TEST(RequestJson, RoundTripKeepsEverything) {
  const Json first = to_json(full_record());
  const auto back = request_from_json(Json::parse(first.dump()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json(*back), first);
  EXPECT_EQ(back->before, full_record().before);
  EXPECT_EQ(back->cause->because.at(0).for_whom, "model b");
  EXPECT_EQ(back->stages.at(3).bytes, 703204704U);
}

TEST(RequestJson, UnknownIsNull) {
  const Json json = to_json(RequestRecord{});
  for (const char* key : {"model", "error", "ttft_ms", "tokens", "decode_tokens_per_s", "cause"}) {
    EXPECT_TRUE(json.at(key).is_null()) << key;
  }
  EXPECT_TRUE(json.at("before").at("pages").at("state").is_null());
  EXPECT_TRUE(json.at("host").at("cpu_mhz").is_null());
  EXPECT_TRUE(request_from_json(json));
}

TEST(RequestJson, EveryStageIsThereInOrderEvenWhenTheRecordHasNone) {
  const Json stages = to_json(RequestRecord{}).at("stages");
  ASSERT_EQ(stages.size(), kAllStages.size());
  for (std::size_t i = 0; i < kAllStages.size(); ++i)
    EXPECT_EQ(stages[i].at("stage"), name_of(kAllStages[i]));
}

TEST(RequestJson, HasTheFieldsOfTheApiInTheirPlaces) {
  const Json json = to_json(full_record());
  EXPECT_EQ(json.at("class"), "voice");
  EXPECT_EQ(
      json.at("stages")[3].dump(),
      R"({"stage":"storage_read","start_ms":3.0,"ms":3.25,"critical_ms":1.5,"bytes":703204704,"source":"kernel"})");
  EXPECT_EQ(json.at("cause").at("evidence").dump(), R"({"bytes_read":703204704,"major_faults":1201})");
  EXPECT_EQ(json.at("cause").at("remedy").dump(), R"({"action":"pin","detail":"pin it","saves_ms":300.0})");
  EXPECT_EQ(json.at("before").at("weights").dump(), R"({"state":"partial","bytes":4,"total":5,"locked":4096})");
}

TEST(RequestJson, ReaderToleratesAddedFields) {
  Json json = to_json(full_record());
  json["added"] = {1, 2};
  json["cause"]["added"] = "x";
  json["stages"][0]["added"] = nullptr;
  json["before"]["magic"] = 7;
  EXPECT_TRUE(request_from_json(json));
}

struct Damage {
  std::string named;  // what the error must name
  std::function<void(Json&)> apply;
};

TEST(RequestJson, ErrorsNameTheField) {
  const std::vector<Damage> cases = {
      {"request.id is missing", [](Json& j) { j.erase("id"); }},
      {"request.id must be", [](Json& j) { j["id"] = 7; }},
      {"request.total_ms is missing", [](Json& j) { j["total_ms"] = nullptr; }},
      {"request.total_ms must be", [](Json& j) { j["total_ms"] = "1"; }},
      {"request.ttft_ms must be", [](Json& j) { j["ttft_ms"] = -1; }},
      {"request.status must be", [](Json& j) { j["status"] = 1e300; }},
      {"request.status must be", [](Json& j) { j["status"] = 5000000000; }},
      {"request.api is not", [](Json& j) { j["api"] = "telnet"; }},
      {"request.class is not", [](Json& j) { j["class"] = Json::array(); }},
      {"request.stages is missing", [](Json& j) { j.erase("stages"); }},
      {"request.stages must be", [](Json& j) { j["stages"] = 3; }},
      {"request.stages[2] must be", [](Json& j) { j["stages"][2] = "x"; }},
      {"request.stages[3].ms is missing", [](Json& j) { j["stages"][3].erase("ms"); }},
      {"request.stages[3].bytes must be", [](Json& j) { j["stages"][3]["bytes"] = -5; }},
      {"request.stages[14].stage is not", [](Json& j) { j["stages"][14]["stage"] = "magic"; }},
      {"request.before must be", [](Json& j) { j["before"] = 1; }},
      {"request.before.pages.state is not", [](Json& j) { j["before"]["pages"]["state"] = "tepid"; }},
      {"request.before.pages must be", [](Json& j) { j["before"]["pages"] = true; }},
      {"request.cause must be", [](Json& j) { j["cause"] = 1; }},
      {"request.cause.because[1].at is missing", [](Json& j) { j["cause"]["because"][1].erase("at"); }},
      {"request.cause.evidence.bytes_read must be", [](Json& j) { j["cause"]["evidence"]["bytes_read"] = 0.5; }},
      {"request.cause.remedy is missing", [](Json& j) { j["cause"].erase("remedy"); }},
      {"request.cause.remedy.action is not", [](Json& j) { j["cause"]["remedy"]["action"] = "pray"; }},
      {"request.tokens.cached must be", [](Json& j) { j["tokens"]["cached"] = 18446744073709551615U; }},
      {"request.host.load must be", [](Json& j) { j["host"]["load"] = "high"; }},
  };
  for (const auto& damage : cases) {
    Json json = to_json(full_record());
    damage.apply(json);
    const auto result = request_from_json(json);
    ASSERT_FALSE(result) << damage.named;
    EXPECT_EQ(result.error().code, base::ErrorCode::bad_request);
    EXPECT_TRUE(result.error().message.starts_with(damage.named)) << result.error().message << " / " << damage.named;
  }
}

// Every place of a good text, in turn, replaced by every kind of value: never a crash, and what is accepted can be
// written.
void for_each_place(const Json& json, const Json::json_pointer& here,
                    const std::function<void(const Json::json_pointer&)>& visit) {
  visit(here);
  if (!json.is_structured()) return;
  for (const auto& item : json.items()) {
    const auto next = json.is_array() ? here / std::stoul(item.key()) : here / item.key();
    for_each_place(item.value(), next, visit);
  }
}

TEST(RequestJson, HostileValuesAnywhereAreRefusedOrRead) {
  const Json good = to_json(full_record());
  const std::vector<Json> poisons = {nullptr,
                                     true,
                                     -1,
                                     1e308,
                                     18446744073709551615U,
                                     "",
                                     std::string(10000, 'x'),
                                     "\xff\xfe",
                                     Json::array(),
                                     Json::object(),
                                     Json::array({Json::array({nullptr})})};
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for_each_place(good, Json::json_pointer(), [&](const Json::json_pointer& place) {
    for (const auto& poison : poisons) {
      Json bad = good;
      bad[place] = poison;
      const auto read = request_from_json(bad);
      ++(read ? accepted : refused);
      if (read) {
        EXPECT_EQ(to_json(*read).at("stages").size(), kAllStages.size());
      }
      if (!read) {
        EXPECT_TRUE(read.error().message.starts_with("request"));
      }
    }
  });
  EXPECT_GT(accepted, 100U);
  EXPECT_GT(refused, 1000U);
}

TEST(RequestJson, WhatIsNotAnObjectIsRefused) {
  for (const Json& json : {Json(nullptr), Json(1), Json("x"), Json::array()}) {
    EXPECT_EQ(request_from_json(json).error().message, "request must be an object");
  }
}

}  // namespace
}  // namespace hearth::domain
