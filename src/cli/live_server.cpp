#include "cli/live_server.h"

#include <fmt/format.h>

#include <random>

#include "cli/json_view.h"

namespace hearth::cli {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using domain::Json;

constexpr std::uint32_t kFirstToken = 300;
constexpr std::uint32_t kTokens = 1000;
// What the server does behind an answer takes a moment.
constexpr int kTries = 40;
constexpr auto kPause = 25ms;

std::string target_of(const domain::ModelId& id) { return "/hearth/v1/models/" + client::path_segment(id.text()); }

Json prompt_of(const LiveServer::Question& question) {
  std::mt19937_64 chance(question.seed);
  Json tokens = Json::array();
  for (std::uint32_t count = 0; count < std::max(question.prompt_tokens, 1U); ++count)
    tokens.push_back(kFirstToken + chance() % kTokens);
  return tokens;
}

std::unexpected<base::Error> not_ours(const std::string& url, std::string_view what) {
  return base::fail(ErrorCode::internal, fmt::format("{} does not tell {}; is it a Hearth server?", url, what));
}

}  // namespace

base::Result<LiveServer::Model> LiveServer::model(const domain::ModelId& id) const {
  auto answer = client_.get(target_of(id));
  if (!answer) return base::pass(answer);
  const auto service_class = domain::service_class_named(text_at(answer->body, {"class"}).value_or(""));
  if (!service_class) return not_ours(url(), "the class of " + id.text());
  return Model{*service_class, count_at(answer->body, {"memory", "reserved"}).value_or(0)};
}

base::Result<double> LiveServer::cool(const domain::ModelId& id, std::string_view layer) const {
  for (int tries = 1;; ++tries) {
    auto answer = client_.post(target_of(id) + "/cool?wait=1", {{"layer", layer}});
    if (answer) return number_at(answer->body, {"ms"}).value_or(0) / 1000;
    if (answer.error().code != ErrorCode::in_use || tries == kTries || !pause_(kPause))
      return std::unexpected(std::move(answer.error()));
  }
}

base::Result<double> LiveServer::stop(const domain::ModelId& id) const {
  auto stopped = cool(id, "process");
  if (!stopped && stopped.error().code == ErrorCode::loading) return 0.0;
  return stopped;
}

base::Result<std::optional<double>> LiveServer::hibernate(const domain::ModelId& id) const {
  auto cooled = cool(id, "weights");
  if (cooled) return *cooled;
  if (cooled.error().code == ErrorCode::unsupported) return std::nullopt;
  return std::unexpected(std::move(cooled.error()));
}

base::Result<std::string> LiveServer::ask(const Question& question) const {
  Json body = {{"model", question.id.text()},
               {"prompt", prompt_of(question)},
               {"max_tokens", std::max(question.answer_tokens, 1U)},
               {"temperature", 0},
               {"ignore_eos", true},
               {"stream", true}};
  if (question.keep_alive) body["keep_alive"] = *question.keep_alive;
  auto end = client_.post_stream("/v1/completions", body, [](const client::SseEvent&) { return true; });
  if (!end) return base::pass(end);
  if (end->request_id.empty()) return not_ours(url(), "the id of a request");
  return std::move(end->request_id);
}

base::Result<domain::RequestRecord> LiveServer::timeline(const std::string& request_id) const {
  for (int tries = 1;; ++tries) {
    auto answer = client_.get("/hearth/v1/requests/" + request_id);
    if (answer) return domain::request_from_json(answer->body);
    const auto code = answer.error().code;
    const bool may_come = code == ErrorCode::not_found || code == ErrorCode::model_not_found;
    if (!may_come || tries == kTries || !pause_(kPause)) return base::pass(answer);
  }
}

base::Result<LiveServer::Memory> LiveServer::memory() const {
  auto answer = client_.get("/hearth/v1/machine");
  if (!answer) return base::pass(answer);
  const auto reserved = count_at(answer->body, {"memory", "reserved"});
  const auto free = count_at(answer->body, {"memory", "free"});
  if (!reserved || !free) return not_ours(url(), "its memory");
  return Memory{*reserved, *free};
}

base::Result<Json> LiveServer::events(std::uint64_t since) const {
  auto answer = client_.get(fmt::format("/hearth/v1/events?since={}", since));
  if (!answer) return base::pass(answer);
  const Json& events = at_path(answer->body, {"events"});
  if (!events.is_array()) return not_ours(url(), "its events");
  return events;
}

}  // namespace hearth::cli
