#pragma once
// The messages of an Ollama chat, as llama-server's chat endpoint takes them. Pure.
//
// Differences: arguments of tool calls are an object there and a text here; tool results carry an id here, which
// Ollama's clients mostly leave out, so results without one answer the calls before them in order; pictures and sound
// are bare base64 there and parts of the content here, their kind told by their first bytes.
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace hearth::http {

// `messages` must be an array. Errors: bad_request, naming the message by its number.
[[nodiscard]] base::Result<nlohmann::ordered_json> chat_messages_of(const nlohmann::ordered_json& messages);

// The content of a message: the text alone, or with `images` (an array of base64 texts, or null) the parts. Errors:
// bad_request for what is no base64, or a kind of file that the engine does not read.
[[nodiscard]] base::Result<nlohmann::ordered_json> content_of(const std::string& text,
                                                              const nlohmann::ordered_json& images);

}  // namespace hearth::http
