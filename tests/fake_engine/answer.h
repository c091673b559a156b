#pragma once
// The JSON that llama-server answers with, for a made-up answer. Pure.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/fake_engine/scenario.h"

namespace hearth::fake_engine {

using Json = nlohmann::ordered_json;

enum class Kind { chat, completion };

// One request, understood.
struct Question {
  Kind kind = Kind::chat;
  bool stream = false;
  bool return_progress = false;
  bool include_usage = false;
  int tokens = 0;                   // to generate
  bool cut_short = false;           // by max_tokens: finish_reason "length"
  std::vector<std::string> prompt;  // words
};

struct Timings {
  int cached = 0;
  int evaluated = 0;
  double prompt_ms = 0;
  int generated = 0;
  double generated_ms = 0;
};

Question understand(Kind kind, const Json& body, const Scenario& scenario);
std::vector<std::string> words_of(const std::string& text);
// The nth token of every answer, from 1: "Fake", " answer", " w3", …
std::string token_text(int nth);

Json progress_chunk(const Question& question, const std::string& alias, int cached, int processed, double ms);
Json role_chunk(const std::string& alias);
Json token_chunk(const Question& question, const std::string& alias, int nth);
// The chunks that end a stream; timings on the last.
std::vector<Json> last_chunks(const Question& question, const std::string& alias, const Timings& timings);
Json whole_answer(const Question& question, const std::string& alias, const Timings& timings);
Json error_body(int code, const std::string& message, const std::string& type);

}  // namespace hearth::fake_engine
