#pragma once
// Watches an engine's streamed answer pass by: what may go on to the client, and what the stream says of itself.
//
// Hearth asks every stream for `return_progress`, because the engine notices a client that has left only when it
// writes, and because it tells when prefill begins. Those progress events are the one thing taken out again for clients
// that did not ask for them; every other byte goes on as it came. Pure; one object a stream.
#include <optional>
#include <string>
#include <string_view>

#include "domain/request.h"
#include "http/sse.h"

namespace hearth::http {

class AnswerWatch {
 public:
  explicit AnswerWatch(bool client_wants_progress) : keeps_progress_(client_wants_progress) {}

  // Appends to `out` what goes on to the client.
  void feed(std::string_view bytes, std::string& out);
  // At the end of the stream: what was held back as an unfinished event.
  void finish(std::string& out) { out += splitter_.take_rest(); }

  // The engine has begun to evaluate the prompt.
  [[nodiscard]] bool prefill_began() const { return prefill_began_; }
  // Text, reasoning or a tool call has come.
  [[nodiscard]] bool first_token() const { return first_token_; }
  // The engine's timings, once its last event has come.
  [[nodiscard]] std::optional<domain::EngineTimings> timings() const;
  // The message of an error event, if one came.
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

 private:
  bool watch(std::string_view event);
  bool note_progress(std::string_view data);

  SseSplitter splitter_;
  bool keeps_progress_;
  bool prefill_began_ = false;
  bool first_token_ = false;
  std::string last_timed_;  // the data of the last event that carried timings
  std::optional<std::string> error_;
};

// The engine's `timings` object within a JSON answer. Empty when it is missing or not of that form.
[[nodiscard]] std::optional<domain::EngineTimings> timings_in(std::string_view json);

}  // namespace hearth::http
