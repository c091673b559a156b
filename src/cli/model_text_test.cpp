#include "cli/model_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/test_world.h"

namespace hearth::cli {
namespace {

using domain::Json;
using testing::HasSubstr;

Json two_models() { return Json::array({Json::parse(kReadyModel), Json::parse(kFailedModel)}); }

TEST(ModelText, ListsModels) {
  EXPECT_EQ(list_text(two_models()),
            "NAME               SIZE  QUANTISATION  PARAMETERS  CONTEXT  STATE\n"
            "qwen3-4b:q4_k_m  2.5 GB  Q4_K_M              4.0B    40960  ready\n"
            "mini             4.0 MB  -                      -        -  failed\n");
}

TEST(ModelText, ShowsEveryLayerInATable) {
  EXPECT_EQ(layers_text(two_models(), 0),
            "MODEL            STATE    PID  RESERVED  MEMORY  KEPT UNTIL            artifact     pages                 "
            " packed   "
            "process  weights      device   kernels  prefix\n"
            "qwen3-4b:q4_k_m  ready   4711    3.3 GB  3.1 GB  2026-01-31 09:15:30Z  warm 2.5 GB  partial 703 MB/2.5 GB "
            " unknown  "
            "warm     warm 2.5 GB  cold     unknown  unknown\n"
            "mini             failed     -         -       -  -                     warm 4.0 MB  unknown               "
            " unknown  "
            "unknown  unknown      unknown  unknown  unknown\n");
}

TEST(ModelText, SaysThatAModelIsThrashingAndByHowMuch) {
  auto models = two_models();
  models[0]["memory"]["reread_per_token"] = 650'000'000U;
  for (const std::size_t columns : {0U, 80U}) {
    EXPECT_THAT(layers_text(models, columns),
                HasSubstr("qwen3-4b:q4_k_m is thrashing: its weights do not fit into memory, 650 MB are read again for "
                          "each token\n"));
  }
  EXPECT_THAT(layers_text(two_models(), 0), testing::Not(HasSubstr("thrashing")));
}

TEST(ModelText, ShowsEveryLayerInBlocksWhereATableDoesNotFit) {
  const std::string text = layers_text(two_models(), 80);
  EXPECT_THAT(
      text, testing::StartsWith(
                "qwen3-4b:q4_k_m: ready, pid 4711, 3.1 GB of memory, 3.3 GB reserved, kept until 2026-01-31 09:15:30Z\n"
                "  artifact  warm 2.5 GB\n"
                "  pages     partial 703 MB/2.5 GB\n"));
  EXPECT_THAT(text, HasSubstr("\nmini: failed\n  artifact  warm 4.0 MB\n"));
}

TEST(ModelText, ShowsOneModel) {
  EXPECT_EQ(model_text(Json::parse(kReadyModel)),
            "name            qwen3-4b:q4_k_m\n"
            "state           ready\n"
            "size            2.5 GB\n"
            "architecture    qwen3\n"
            "quantisation    Q4_K_M\n"
            "parameters      4.0B\n"
            "context         40960 tokens\n"
            "engine          llama-server\n"
            "class           interactive\n"
            "kept until      2026-01-31 09:15:30Z\n"
            "  wished by     ann at 10.0.0.2: 1h (request), until 2026-01-31 09:15:30Z\n"
            "ready in        0.0 ms (it is ready)\n"
            "memory          3.3 GB reserved, 3.1 GB measured, 3.3 GB estimated\n"
            "last used at    2026-01-31T08:20:00.000Z\n"
            "requests        12\n"
            "\n"
            "layers\n"
            "  artifact      warm 2.5 GB\n"
            "  pages         partial 703 MB/2.5 GB\n"
            "  packed        unknown\n"
            "  process       warm\n"
            "  weights       warm 2.5 GB\n"
            "  device        cold\n"
            "  kernels       unknown\n"
            "  prefix        unknown\n");
}

TEST(ModelText, TellsAFailure) {
  EXPECT_THAT(model_text(Json::parse(kFailedModel)),
              HasSubstr("failure         the engine ended with status 1\nfailed at       2026-01-31T08:15:30.123Z\n"));
}

TEST(ModelText, SurvivesAnyShape) {
  for (const char* text :
       {"null", "[]", "7", "{}", R"({"id": 7, "layers": []})", R"({"id": "a\u001b[2J\n", "state": "x\u0007"})",
        R"({"layers": {"pages": {"state": "partial", "bytes": -1, "total": "many"}}, "memory": 5})"}) {
    const Json model = Json::parse(text);
    const Json models = Json::array({model});
    for (const auto& shown : {list_text(models), layers_text(models, 0), layers_text(models, 10), model_text(model)}) {
      EXPECT_EQ(shown.find_first_of("\x1b\x07"), std::string::npos) << text;
    }
  }
}

TEST(ModelText, WritesCountsShort) {
  for (const auto& [count, text] : {std::pair{0UL, "0"},
                                    {999UL, "999"},
                                    {1000UL, "1.0k"},
                                    {12'345UL, "12k"},
                                    {350'000'000UL, "350M"},
                                    {1'240'000'000UL, "1.2B"},
                                    {70'000'000'000UL, "70B"}}) {
    EXPECT_EQ(format_count(count), text);
  }
}

}  // namespace
}  // namespace hearth::cli
