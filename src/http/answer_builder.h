#pragma once
// Puts a whole answer together from the engine's stream of chunks, in the form the engine itself would have sent for a
// request that is not streamed. Pure; one object an answer.
//
// Source: chunk and object shapes of llama-server (build 11669): several choices by index, text, reasoning, tool calls
// in pieces, log probabilities, usage and timings on the last chunk.
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "http/relay_body.h"
#include "http/sse.h"

namespace hearth::http {

class AnswerBuilder {
 public:
  explicit AnswerBuilder(Endpoint endpoint) : endpoint_(endpoint) {}

  void feed(std::string_view bytes);

  // The stream ended with "[DONE]": the answer is whole.
  [[nodiscard]] bool complete() const { return done_; }
  // The engine's own error object, if the stream carried one.
  [[nodiscard]] const std::optional<nlohmann::ordered_json>& error() const { return error_; }
  // The JSON text. REQUIRES: complete().
  [[nodiscard]] std::string build() const;
  // The error as a whole answer. REQUIRES: error().
  [[nodiscard]] std::string build_error() const;

 private:
  using Json = nlohmann::ordered_json;
  struct Choice {
    std::string content;
    std::string reasoning;
    std::map<std::size_t, Json> tool_calls;
    Json logprobs;
    Json finish_reason;
  };

  void take_event(std::string_view data);
  void take_choice(const Json& chunk);
  void take_tool_call(Choice& choice, const Json& piece);
  [[nodiscard]] Json message_of(const Choice& choice) const;
  [[nodiscard]] Json choice_json(std::size_t index, const Choice& choice) const;

  Endpoint endpoint_;
  SseSplitter splitter_;
  std::map<std::size_t, Choice> choices_;
  Json head_;  // the first chunk: id, created, model, fingerprint
  Json usage_;
  Json timings_;
  std::optional<Json> error_;
  bool done_ = false;
};

}  // namespace hearth::http
