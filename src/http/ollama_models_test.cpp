#include "http/ollama_models.h"

#include <gtest/gtest.h>

namespace hearth::http {
namespace {

using domain::Json;
using domain::Layer;
using namespace std::chrono_literals;

constexpr base::Wall kNow{1'700'000'000s};

domain::ModelView mini() {
  domain::ModelView model{
      .id = domain::ModelId::parse("mini").value(), .engine = "llama-server", .layers = {}, .ready_basis = ""};
  model.state = domain::ModelState::ready;
  model.digest = std::string(64, 'a');
  model.imported_at = kNow;
  model.architecture = "llama";
  model.quantisation = "Q4_0";
  model.parameters = 203'500'000;
  model.context_length = 4096;
  model.memory_measured = 250'000'000;
  at(model.layers, Layer::artifact).total = 100'000'000;
  return model;
}

TEST(OllamaModels, ATagHasWhatClientsNeed) {
  EXPECT_EQ(ollama_tag(mini()),
            Json::parse(R"({"name":"mini:latest","model":"mini:latest","modified_at":"2023-11-14T22:13:20.000Z",
      "size":100000000,"digest":")" +
                        std::string(64, 'a') + R"(","details":{"parent_model":"","format":"gguf","family":"llama",
      "families":["llama"],"parameter_size":"203.50M","quantization_level":"Q4_0","context_length":4096}})"));
}

TEST(OllamaModels, AProcessTellsWhenItEnds) {
  auto model = mini();
  model.keep.until = kNow + 1h;
  model.context = 8192;  // split between slots
  model.request_context = 2048;
  const Json process = ollama_process(model, kNow);
  EXPECT_EQ(process["expires_at"], "2023-11-14T23:13:20.000Z");
  EXPECT_EQ(process["size"], 250'000'000);
  EXPECT_EQ(process["size_vram"], 0);
  EXPECT_EQ(process["context_length"], 2048);
  model.keep = {.forever = true, .until = {}, .source = domain::KeepSource::pin, .votes = {}};
  EXPECT_EQ(ollama_process(model, kNow)["expires_at"].get<std::string>().substr(0, 4), "2123");
}

TEST(OllamaModels, OnlyWhatAnswersAtOnceIsLoaded) {
  auto model = mini();
  EXPECT_TRUE(is_loaded(model));
  for (const auto state : {domain::ModelState::cold, domain::ModelState::hibernated, domain::ModelState::failed}) {
    model.state = state;
    EXPECT_FALSE(is_loaded(model));
  }
}

TEST(OllamaModels, ShowHasAModelInfoAlways) {
  domain::ModelCard card;
  card.capabilities = {"completion", "tools"};
  const Json show = ollama_show(mini(), card);
  EXPECT_TRUE(show["model_info"].is_object());
  EXPECT_EQ(show["capabilities"], Json::parse(R"(["completion","tools"])"));
  EXPECT_EQ(show["parameters"], "");
  auto model = mini();
  model.context = 8192;
  EXPECT_EQ(ollama_show(model, card)["parameters"], "num_ctx                        8192");
}

TEST(OllamaModels, ParameterSizes) {
  EXPECT_EQ(parameter_size(8'030'261'248), "8.0B");
  EXPECT_EQ(parameter_size(7'000'000'000), "7B");
  EXPECT_EQ(parameter_size(260'000), "260K");
  EXPECT_EQ(parameter_size(12), "12");
}

}  // namespace
}  // namespace hearth::http
