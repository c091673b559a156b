#pragma once
// Models as Ollama's clients are told of them. Pure.
#include "base/clock.h"
#include "domain/model.h"
#include "domain/model_card.h"

namespace hearth::http {

// One entry of /api/tags.
[[nodiscard]] domain::Json ollama_tag(const domain::ModelView& model);
// Whether a model is listed by /api/ps: its engine runs and its weights have not been told to leave.
[[nodiscard]] bool is_loaded(const domain::ModelView& model);
// One entry of /api/ps. A model that is kept forever ends far away in time, as Ollama tells it.
[[nodiscard]] domain::Json ollama_process(const domain::ModelView& model, base::Wall now);
// When a model that is loaded ends to be; for the order of /api/ps.
[[nodiscard]] base::Wall expiry_of(const domain::ModelView& model, base::Wall now);
// The answer of /api/show.
[[nodiscard]] domain::Json ollama_show(const domain::ModelView& model, const domain::ModelCard& card);
// "8.0B", "203.50M", "260K".
[[nodiscard]] std::string parameter_size(std::uint64_t parameters);

}  // namespace hearth::http
