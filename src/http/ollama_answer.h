#pragma once
// Turns the engine's stream of events into Ollama's answer: one JSON object a line as tokens come, or one object at the
// end. Pure; one object an answer.
//
// Source: Ollama 0.12, api/types.go. Every chunk carries model, created_at, done, and `message` (chat) or `response`
// (generate); the last one the reason and the figures. Optional fields are left out where they are empty: a client that
// is given an empty `thinking` shows that instead of the content. Tool calls go out whole, in a chunk of their own
// before the last, with their arguments as an object.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "domain/request.h"
#include "http/ollama_request.h"
#include "http/sse.h"

namespace hearth::http {

class OllamaAnswer {
 public:
  OllamaAnswer(OllamaCall call, std::string model, bool stream)
      : call_(call), model_(std::move(model)), stream_(stream) {}

  // Takes bytes of the engine's stream; appends the lines that go out now to `out` (none when it is not streamed).
  void feed(std::string_view bytes, base::Wall now, std::string& out);

  // The engine has said all of it.
  [[nodiscard]] bool complete() const { return done_; }
  // The engine's own error, or what is wrong with its answer.
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }
  [[nodiscard]] bool prefill_began() const { return prefill_began_; }
  [[nodiscard]] bool first_token() const { return first_token_; }
  [[nodiscard]] const std::optional<domain::EngineTimings>& timings() const { return timings_; }
  // All text so far, without reasoning.
  [[nodiscard]] const std::string& text() const { return text_; }

  // A chunk that says nothing, for a client that must see bytes.
  [[nodiscard]] std::string empty_line(base::Wall now) const;
  struct Figures {
    base::Duration total{};
    base::Duration load{};
    std::optional<nlohmann::ordered_json> context;  // token numbers
  };
  // What ends the answer: tool calls and the last line, or the whole object. REQUIRES: complete(). Errors: internal,
  // for a tool call that the model did not bring to its end.
  [[nodiscard]] base::Result<std::string> finish(base::Wall now, const Figures& figures) const;
  // The one object that tells of a load or an unload, `reason`.
  [[nodiscard]] std::string nothing_asked(std::string_view reason, base::Wall now, const Figures& figures) const;

 private:
  using Json = nlohmann::ordered_json;
  struct Piece {
    std::string text;
    std::string thinking;
    Json logprobs;
  };
  void take_event(std::string_view data, base::Wall now, std::string& out);
  [[nodiscard]] Piece piece_of(const Json& event);
  void take_tool_calls(const Json& calls);
  void say(Piece piece, base::Wall now, std::string& out);
  [[nodiscard]] base::Result<Json> tool_calls_json() const;
  [[nodiscard]] Json chunk(const Piece& piece, base::Wall now, bool done) const;
  void add_figures(Json& last, const Figures& figures) const;

  struct ToolCall {
    std::string name;
    std::string arguments;
    std::string id;
  };
  OllamaCall call_;
  std::string model_;
  bool stream_;
  SseSplitter splitter_;
  std::string text_;
  std::string thinking_;
  Json logprobs_;
  std::vector<ToolCall> tool_calls_;
  std::string finish_reason_;
  std::optional<domain::EngineTimings> timings_;
  std::optional<std::string> error_;
  bool done_ = false;
  bool prefill_began_ = false;
  bool first_token_ = false;
};

// One line of JSON and its end.
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& json);
// RFC 3339 with nanoseconds' place for the fraction, in UTC.
[[nodiscard]] std::string ollama_instant(base::Wall instant);

}  // namespace hearth::http
