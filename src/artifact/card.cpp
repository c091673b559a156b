#include "artifact/card.h"

namespace hearth::artifact {
namespace {

using domain::Json;

constexpr std::string_view kTemplateKey = "tokenizer.chat_template";

struct ToJson {
  Json operator()(const GgufArray&) const { return nullptr; }
  Json operator()(const GgufLongText&) const { return nullptr; }
  template <typename T>
  Json operator()(const T& value) const {
    return value;
  }
};

std::vector<std::string> capabilities_of(const Gguf& gguf, const std::string& chat_template) {
  const std::string* architecture = gguf.text("general.architecture");
  const auto has = [&](std::string_view key) { return gguf.metadata.contains(key); };
  const auto has_own = [&](std::string_view key) {
    return architecture && has(*architecture + "." + std::string(key));
  };
  const auto speaks_of = [&](std::string_view word) { return chat_template.contains(word); };
  std::vector<std::string> capabilities = {has_own("pooling_type") ? "embedding" : "completion"};
  if (speaks_of("tools") || speaks_of("tool_call")) capabilities.emplace_back("tools");
  if (speaks_of("enable_thinking") || speaks_of("reasoning_effort") || speaks_of("<think>"))
    capabilities.emplace_back("thinking");
  if (has_own("vision.block_count")) capabilities.emplace_back("vision");
  if (has("tokenizer.ggml.fim_pre_token_id") || has("tokenizer.ggml.prefix_token_id"))
    capabilities.emplace_back("insert");
  return capabilities;
}

}  // namespace

domain::ModelCard card_of(const Gguf& gguf) {
  domain::ModelCard card;
  if (const std::string* text = gguf.text(kTemplateKey)) card.chat_template = *text;
  card.capabilities = capabilities_of(gguf, card.chat_template);
  for (const auto& [key, value] : gguf.metadata) {
    if (key != kTemplateKey && key != "general.name") card.info[key] = std::visit(ToJson{}, value);
  }
  card.info["general.parameter_count"] = summarise(gguf).parameters;
  return card;
}

}  // namespace hearth::artifact
