// `hearth run`: one question, its answer as it comes, then its timeline.
#include <fmt/format.h>

#include <istream>
#include <iterator>
#include <ostream>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/json_view.h"
#include "cli/progress.h"
#include "cli/terminal_text.h"
#include "domain/model_id.h"

namespace hearth::cli {
namespace {

using namespace std::chrono_literals;
using domain::Json;

constexpr std::size_t kLongestPrompt = 64'000'000;
// The server records a request when its last byte is handed over, which is a moment after we have it.
constexpr int kRecordTries = 40;
constexpr auto kRecordPause = 25ms;

base::Result<std::string> read_prompt(const Invocation& invocation, Console& console) {
  std::string prompt = base::join(invocation.prompt, " ");
  if (invocation.prompt.empty()) {
    if (console.in_is_terminal) console.err << "type the prompt, then Ctrl-D on a line of its own" << std::endl;
    prompt.resize(kLongestPrompt + 1);
    console.in.read(prompt.data(), static_cast<std::streamsize>(prompt.size()));
    prompt.resize(static_cast<std::size_t>(console.in.gcount()));
    if (prompt.size() > kLongestPrompt)
      return base::fail(base::ErrorCode::too_large, "the prompt on standard input is larger than 64 MB");
  }
  if (base::trim(prompt).empty()) {
    return base::fail(base::ErrorCode::bad_request,
                      "the prompt is empty; give it after the model's name, or on standard input");
  }
  return prompt;
}

base::Status check_text(const std::string& text, std::string_view what) {
  if (is_utf8(text)) return {};
  return base::fail(base::ErrorCode::bad_request,
                    fmt::format("the {} is not UTF-8 text; convert it first, for example with iconv", what));
}

base::Result<Json> question(const Invocation& invocation, const domain::ModelId& id, Console& console) {
  auto prompt = read_prompt(invocation, console);
  if (!prompt) return base::pass(prompt);
  if (auto good = check_text(*prompt, "prompt"); !good) return base::pass(good);
  if (auto good = check_text(invocation.system.value_or(""), "system prompt"); !good) return base::pass(good);
  Json body = {{"model", id.text()}, {"messages", Json::array()}, {"stream", true}};
  if (invocation.system) body["messages"].push_back({{"role", "system"}, {"content", *invocation.system}});
  body["messages"].push_back({{"role", "user"}, {"content", *std::move(prompt)}});
  if (invocation.temperature) body["temperature"] = *invocation.temperature;
  if (invocation.max_tokens) body["max_tokens"] = *invocation.max_tokens;
  return body;
}

// One answer being read. Prints what comes unless it is wanted as JSON.
class AnswerReader {
 public:
  AnswerReader(Console& console, ProgressLine& progress, bool quiet)
      : console_(console), progress_(progress), quiet_(quiet) {}

  // One event of the stream; false when the rest is not wanted. After the last event the end of the stream is waited
  // for all the same: hanging up before it would look to the server like a reader who left.
  bool take(const client::SseEvent& event) {
    if (event.data == "[DONE]") {
      complete_ = true;
      return true;
    }
    const Json chunk = Json::parse(event.data, nullptr, false);
    if (!at_path(chunk, {"error"}).is_null()) return refuse(chunk);
    const Json& choices = at_path(chunk, {"choices"});
    if (!choices.is_array() || choices.empty()) return true;
    if (text_at(choices.front(), {"finish_reason"})) complete_ = true;
    if (const auto text = text_at(choices.front(), {"delta", "content"})) print(*text);
    return true;
  }

  // Errors: what the server reported in the stream; io when it ended too early.
  [[nodiscard]] base::Status finish() {
    if (!quiet_ && !text_.empty() && !text_.ends_with('\n')) console_.out << "\n";
    console_.out << std::flush;
    if (failure_) return std::unexpected(*failure_);
    if (complete_) return {};
    return base::fail(base::ErrorCode::io, "the answer broke off before its end");
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  bool refuse(const Json& chunk) {
    const auto message =
        text_at(chunk, {"error", "message"}).value_or(text_at(chunk, {"error"}).value_or("no reason given"));
    failure_ = base::Error{base::ErrorCode::engine_failed, "the answer failed: " + base::printable(message, 2000)};
    return false;
  }

  void print(const std::string& text) {
    if (text.empty()) return;
    text_ += text;
    if (quiet_) return;
    progress_.finish();
    console_.out << (console_.out_is_terminal ? without_controls(text) : text) << std::flush;
  }

  Console& console_;
  ProgressLine& progress_;
  bool quiet_;
  bool complete_ = false;
  std::string text_;
  std::optional<base::Error> failure_;
};

// How long the model needs until it can answer, where the server knows.
base::Result<std::optional<base::Duration>> expected_wait(const client::NativeClient& client,
                                                          const domain::ModelId& id) {
  auto answer = client.get("/hearth/v1/models/" + client::path_segment(id.text()));
  if (!answer) return base::pass(answer);
  const auto ms = number_at(answer->body, {"ready_in_ms", "estimate"});
  if (!ms || !(*ms > 0 && *ms < 3.6e6)) return std::nullopt;
  return base::from_ms(*ms);
}

base::Result<Json> fetch_record(const client::NativeClient& client, const std::string& id, Console& console) {
  if (id.empty()) return base::fail(base::ErrorCode::internal, "the server gave the request no id");
  for (int tries = 1;; ++tries) {
    auto answer = client.get("/hearth/v1/requests/" + id);
    if (answer) return std::move(answer->body);
    const bool may_come =
        answer.error().code == base::ErrorCode::not_found || answer.error().code == base::ErrorCode::model_not_found;
    if (!may_come || tries == kRecordTries || !console.pause(kRecordPause)) return base::pass(answer);
  }
}

// The answer is what was asked for; a timeline that cannot be had is told, and fails nothing.
Outcome print_timeline(const base::Result<Json>& record, Console& console) {
  base::Status printed;
  if (record) {
    console.out << "\n";
    printed = print_request(*record, console);
  } else {
    printed = std::unexpected(record.error());
  }
  if (!printed) console.err << "hearth: the timeline is not known: " << printed.error().message << std::endl;
  return 0;
}

}  // namespace

Outcome run_model(const Invocation& invocation, Console& console) {
  auto id = domain::ModelId::parse(invocation.model);
  if (!id) return base::pass(id);
  auto client = connect(console);
  if (!client) return base::pass(client);
  auto body = question(invocation, *id, console);
  if (!body) return base::pass(body);
  auto expected = expected_wait(*client, *id);
  if (!expected) return base::pass(expected);

  ProgressLine progress(console);
  const ProgressStep step{"waiting for the first token of " + id->text()};
  progress.show(step, *expected);
  client->set_while_waiting([&] { progress.show(step, *expected); });
  AnswerReader reader(console, progress, invocation.json);
  auto end = client->post_stream("/v1/chat/completions", *body,
                                 [&](const client::SseEvent& event) { return reader.take(event); });
  progress.finish();
  client->set_while_waiting({});
  auto finished = reader.finish();
  if (!end) return base::pass(end);
  if (!finished) return base::pass(finished);

  const auto record = fetch_record(*client, end->request_id, console);
  if (!invocation.json) return print_timeline(record, console);
  if (!record) console.err << "hearth: the timeline is not known: " << record.error().message << std::endl;
  print_json(console, {{"answer", reader.text()}, {"request", record ? *record : Json(nullptr)}});
  return 0;
}

}  // namespace hearth::cli
