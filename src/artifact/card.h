#pragma once
// A model's card, from its GGUF header. Pure.
#include "artifact/gguf.h"
#include "domain/model_card.h"

namespace hearth::artifact {

// Capabilities are told by keys (<architecture>.pooling_type: embedding; .vision.block_count: vision; a token for
// fill-in-the-middle: insert) and by what the chat template speaks of (tools; a switch or tags for thinking).
[[nodiscard]] domain::ModelCard card_of(const Gguf& gguf);

}  // namespace hearth::artifact
