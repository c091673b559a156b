#include "http/ollama_models.h"

#include <fmt/format.h>

#include "http/ollama_answer.h"
#include "http/ollama_request.h"

namespace hearth::http {
namespace {

using domain::Json;
using domain::Layer;
using domain::ModelState;

// Forever, as a date that clients can read: Ollama's own is the longest duration from now, some 292 years.
constexpr auto kFarAway = std::chrono::days(100 * 365);

Json details_of(const domain::ModelView& model) {
  Json families = Json::array();
  if (model.architecture) families.push_back(*model.architecture);
  Json details = {{"parent_model", ""},
                  {"format", "gguf"},
                  {"family", model.architecture.value_or("")},
                  {"families", std::move(families)},
                  {"parameter_size", model.parameters ? parameter_size(*model.parameters) : ""},
                  {"quantization_level", model.quantisation.value_or("")}};
  if (model.context_length) details["context_length"] = *model.context_length;
  return details;
}

std::uint64_t bytes_of(const domain::ModelView& model) { return at(model.layers, Layer::artifact).total.value_or(0); }

Json named(const domain::ModelView& model) {
  const std::string name = ollama_name(model.id);
  return {{"name", name}, {"model", name}};
}

std::string imported_at(const domain::ModelView& model) {
  return ollama_instant(model.imported_at.value_or(base::Wall{}));
}

}  // namespace

std::string parameter_size(std::uint64_t parameters) {
  const auto number = static_cast<double>(parameters);
  if (number >= 1e9) return fmt::format("{:.{}f}B", number / 1e9, parameters % 1'000'000'000 == 0 ? 0 : 1);
  if (number >= 1e6) return fmt::format("{:.2f}M", number / 1e6);
  if (number >= 1e3) return fmt::format("{:.0f}K", number / 1e3);
  return fmt::format("{}", parameters);
}

Json ollama_tag(const domain::ModelView& model) {
  Json tag = named(model);
  tag["modified_at"] = imported_at(model);
  tag["size"] = bytes_of(model);
  tag["digest"] = model.digest.value_or("");
  tag["details"] = details_of(model);
  return tag;
}

bool is_loaded(const domain::ModelView& model) {
  return model.state == ModelState::ready || model.state == ModelState::busy;
}

base::Wall expiry_of(const domain::ModelView& model, base::Wall now) {
  if (model.keep.forever) return now + kFarAway;
  return std::min(model.keep.until.value_or(now), now + kFarAway);
}

Json ollama_process(const domain::ModelView& model, base::Wall now) {
  Json process = named(model);
  process["size"] = model.memory_measured.value_or(bytes_of(model));
  process["digest"] = model.digest.value_or("");
  process["details"] = details_of(model);
  process["expires_at"] = ollama_instant(expiry_of(model, now));
  process["size_vram"] = at(model.layers, Layer::device).bytes.value_or(0);
  process["context_length"] = model.request_context.value_or(model.context_length.value_or(0));
  return process;
}

Json ollama_show(const domain::ModelView& model, const domain::ModelCard& card) {
  return {{"license", ""},
          {"modelfile", "FROM " + ollama_name(model.id) + "\n"},
          {"parameters", model.context ? fmt::format("{:<30} {}", "num_ctx", *model.context) : ""},
          {"template", card.chat_template},
          {"system", ""},
          {"details", details_of(model)},
          {"model_info", card.info},
          {"capabilities", card.capabilities},
          {"modified_at", imported_at(model)}};
}

}  // namespace hearth::http
