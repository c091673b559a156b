#pragma once
// What a model's file says of itself at length, for those who ask for it.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "domain/json.h"

namespace hearth::domain {

struct ModelCard {
  std::string chat_template;              // empty: the file has none
  std::vector<std::string> capabilities;  // Ollama's words: completion, tools, insert, vision, embedding, thinking
  Json info = Json::object();             // every key of the file and its value; null for arrays and very long texts

  [[nodiscard]] bool can(std::string_view what) const {
    return std::ranges::find(capabilities, what) != capabilities.end();
  }
};

}  // namespace hearth::domain
