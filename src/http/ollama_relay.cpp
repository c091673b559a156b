#include "http/ollama_relay.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "base/scope_exit.h"
#include "base/text.h"
#include "domain/json_text.h"
#include "http/asker.h"
#include "http/engine_stream.h"
#include "http/error_reply.h"
#include "http/respond.h"
#include "rt/deadline.h"

namespace hearth::http {

using base::ErrorCode;
using Json = nlohmann::ordered_json;
using Wish = OllamaRequest::Wish;

namespace {

constexpr std::string_view kLines = "application/x-ndjson";

base::Error in_ollamas_words(base::Error error, std::string_view model) {
  if (error.code == ErrorCode::model_not_found)
    error.message = fmt::format("model '{}' not found", base::printable(model, 200));
  return error;
}

// The text of the engine's refusal, or all of it.
std::string refusal_text(const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object() || !json.contains("error")) return base::printable(body, 500);
  const Json& error = json["error"];
  if (error.is_string()) return error.get<std::string>();
  if (error.is_object() && error.contains("message") && error["message"].is_string()) return error["message"];
  return base::printable(body, 500);
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Json error_json(const std::string& message) { return {{"error", message}}; }
Json tokens_question(const std::vector<std::int64_t>& tokens) { return {{"tokens", tokens}}; }
Json template_question(const Json& upstream) {
  Json question = {{"messages", upstream["messages"]}};
  if (upstream.contains("chat_template_kwargs")) question["chat_template_kwargs"] = upstream["chat_template_kwargs"];
  return question;
}
Json text_question(const std::string& text) {
  return {{"content", text}, {"add_special", false}, {"parse_special", true}};
}

}  // namespace

Reply ollama_error_reply(const base::Error& error, std::string_view model) {
  Reply reply = error_reply(domain::Api::ollama, in_ollamas_words(error, model));
  if (error.code == ErrorCode::queue_full) reply.status = 503;
  return reply;
}

// All that belongs to one request while it is served.
struct OllamaRelay::Call : ObservedCall {
  Call(OllamaCall which, Exchange& with) : ObservedCall(domain::Api::ollama, with), kind(which) {}

  OllamaCall kind;
  std::optional<OllamaRequest> request;
  std::unique_ptr<OllamaAnswer> answer;
  base::Mono last_written;
  std::string rendered;  // the prompt as the engine's template gives it, where it was asked for
};

rt::Task<void> OllamaRelay::serve(OllamaCall kind, Exchange& exchange) {
  Call call(kind, exchange);
  // Recorded on every way out, also when the server stops and this coroutine is unwound.
  const base::ScopeExit record([&] { finish(call); });
  auto prepared = co_await prepare(call);
  if (!prepared) {
    co_await fail(call, std::move(prepared.error()));
    co_return;
  }
  co_await observer_.while_client_stays(call, answer(call));
}

rt::Task<base::Status> OllamaRelay::prepare(Call& call) {
  auto body = co_await call.exchange.read_body();
  if (!body) co_return base::pass(body);
  auto request = read_ollama_request(call.kind, *body);
  if (!request) co_return base::pass(request);
  call.request = std::move(*request);
  call.answer = std::make_unique<OllamaAnswer>(call.kind, call.request->model, call.request->stream);
  call.seen.asked = call.last_written = clock_.now();
  co_return base::Status{};
}

rt::Task<void> OllamaRelay::answer(Call& call) {
  auto done = co_await give(call);
  if (auto error = co_await observer_.ended(call, std::move(done))) co_await fail(call, std::move(*error));
}

rt::Task<base::Status> OllamaRelay::give(Call& call) {
  if (call.request->wish == Wish::unload) co_return co_await unload(call);
  auto acquired = co_await acquire_in_company(call);
  if (!acquired) co_return acquired;
  observer_.admitted(call);
  if (call.request->wish == Wish::load) {
    std::string loaded = call.answer->nothing_asked("load", clock_.wall(), figures(call));
    co_return co_await tell_whole(call, 200, std::move(loaded));
  }
  auto ready = co_await check_thinking(call);
  if (ready) ready = co_await add_what_was_said(call);
  if (ready) ready = co_await observer_.ask(call, call.request->path, domain::text_of(call.request->upstream));
  if (!ready) co_return ready;
  co_return co_await carry(call);
}

rt::Task<base::Status> OllamaRelay::unload(Call& call) {
  base::Status done = base::fail(ErrorCode::model_not_found, "no such model");
  for (const auto& model : models_named(call.request->model)) {
    call.seen.model = model;
    done = co_await gate_.unload(model, asker_of(call.exchange));
    if (done || done.error().code != ErrorCode::model_not_found) break;
  }
  if (!done) co_return done;
  std::string unloaded = call.answer->nothing_asked("unload", clock_.wall(), figures(call));
  co_return co_await tell_whole(call, 200, std::move(unloaded));
}

rt::Task<base::Status> OllamaRelay::acquire(Call& call) {
  base::Error error(ErrorCode::model_not_found, "no such model");
  for (const auto& model : models_named(call.request->model)) {
    call.seen.model = model;
    auto lease = co_await gate_.acquire(model, asker_of(call.exchange, call.request->keep_alive));
    if (lease) {
      call.lease = std::move(*lease);
      co_return base::Status{};
    }
    error = std::move(lease.error());
    if (error.code != ErrorCode::model_not_found) break;
  }
  co_return std::unexpected(std::move(error));
}

rt::Task<base::Status> OllamaRelay::acquire_in_company(Call& call) {
  using namespace boost::asio::experimental::awaitable_operators;
  if (!call.request->stream || call.request->wish != Wish::answer) co_return co_await acquire(call);
  auto first = co_await (acquire(call) || keep_company(call));
  if (first.index() == 1) co_return std::unexpected(std::get<1>(std::move(first)));
  if (call.exchange.broken()) co_return base::fail(ErrorCode::io, "the client does not take what it is sent");
  co_return std::get<0>(std::move(first));
}

// Ends only when the client takes nothing any more, or by a cancellation: before acquire() then, which may have to wait
// for work that cannot be cancelled. Either way there is no lease.
rt::Task<base::Error> OllamaRelay::keep_company(Call& call) {
  for (;;) {
    const bool waited = co_await rt::pause(kSilence);
    if (!waited) co_return base::Error(ErrorCode::cancelled, "the wait for an engine was given up");
    const std::string line = call.answer->empty_line(clock_.wall());
    auto said = co_await say(call, line);
    if (!said) co_return std::move(said.error());
  }
}

rt::Task<base::Status> OllamaRelay::check_thinking(Call& call) {
  if (!call.request->thinks) co_return base::Status{};
  auto card = co_await shelf_.card(*call.seen.model);
  if (!card) co_return base::pass(card);
  if (card->can("thinking")) co_return base::Status{};
  co_return base::fail(ErrorCode::bad_request,
                       fmt::format("\"{}\" does not support thinking", base::printable(call.request->model, 200)));
}

// The tokens of an earlier answer go before the prompt, which the engine's template is asked to render for that.
rt::Task<base::Status> OllamaRelay::add_what_was_said(Call& call) {
  OllamaRequest& request = *call.request;
  if (request.repeat_over_context) {
    if (const auto context = call.lease->context()) request.upstream["repeat_last_n"] = *context;
    if (!call.lease->context()) request.upstream.erase("repeat_last_n");
  }
  if (request.prior_tokens.empty()) co_return base::Status{};
  auto prior = co_await small_question(call, "/detokenize", tokens_question(request.prior_tokens));
  if (!prior) co_return base::pass(prior);
  auto prompt = co_await small_question(call, "/apply-template", template_question(request.upstream));
  if (!prompt) co_return base::pass(prompt);
  call.rendered = text_at(*prior, "content") + text_at(*prompt, "prompt");
  request.path = "/v1/completions";
  request.upstream["prompt"] = call.rendered;
  request.upstream.erase("messages");
  co_return base::Status{};
}

// A question beside the request, to the same engine, answered at once.
rt::Task<base::Result<Json>> OllamaRelay::small_question(Call& call, std::string_view path, Json body) {
  EngineStream engine(co_await rt::asio::this_coro::executor);
  const std::string text = domain::text_of(body);
  if (auto asked = co_await engine.ask(call.lease->socket_path(), path, text, [] {}); !asked)
    co_return base::pass(asked);
  auto answer = co_await engine.read_all(kLargestAnswer);
  if (!answer) co_return base::pass(answer);
  Json json = Json::parse(*answer, nullptr, false);
  if (engine.status() == 200 && json.is_object()) co_return json;
  co_return base::fail(ErrorCode::bad_request, refusal_text(*answer));
}

rt::Task<base::Status> OllamaRelay::carry(Call& call) {
  if (!call.engine->content_type().starts_with("text/event-stream")) co_return co_await pass_refusal(call);
  std::string piece;
  std::string lines;
  do {
    if (auto read = co_await call.engine->read(piece); !read) co_return read;
    lines.clear();
    call.answer->feed(piece, clock_.wall(), lines);
    note(call);
    if (call.answer->error()) co_return co_await pass_refusal(call);
    if (call.answer->text().size() > kLargestAnswer)
      co_return base::fail(ErrorCode::too_large, "the answer is larger than 64 MB; ask for it in parts");
    const bool silent = call.request->stream && clock_.now() - call.last_written > kSilence;
    if (lines.empty() && silent) lines = call.answer->empty_line(clock_.wall());
    if (auto said = co_await say(call, lines); !said) co_return said;
  } while (!piece.empty() && !call.answer->complete());
  if (!call.answer->complete())
    co_return base::fail(ErrorCode::engine_failed, "the engine's answer ended before it was complete");
  co_return co_await conclude(call);
}

void OllamaRelay::note(Call& call) const {
  observer_.note(call, call.answer->prefill_began(), call.answer->first_token());
}

// The engine said no: before its answer, or in the middle of it.
rt::Task<base::Status> OllamaRelay::pass_refusal(Call& call) {
  unsigned status = 500;
  std::string why;
  if (call.answer->error()) {
    why = *call.answer->error();
  } else {
    auto body = co_await call.engine->read_all(kLargestAnswer);
    if (!body) co_return base::pass(body);
    status = call.engine->status() < 400 ? 502 : call.engine->status();
    why = refusal_text(*body);
  }
  call.seen.error = "the engine refused the request: " + base::printable(why, 500);
  std::string line = json_line(error_json(why));
  co_return co_await tell_whole(call, status, std::move(line));
}

rt::Task<base::Status> OllamaRelay::begin(Call& call) {
  call.seen.status = 200;
  std::vector<Header> headers = headers_for(call);
  headers.emplace_back("Content-Type", std::string(kLines));
  headers.emplace_back("Cache-Control", "no-cache");
  headers.emplace_back("X-Accel-Buffering", "no");
  co_return co_await call.exchange.begin(200, std::move(headers));
}

rt::Task<base::Status> OllamaRelay::say(Call& call, std::string_view lines) {
  if (lines.empty()) co_return base::Status{};
  if (!call.exchange.answered()) {
    if (auto begun = co_await begin(call); !begun) co_return begun;
  }
  call.last_written = clock_.now();
  co_return co_await call.exchange.write(lines);
}

rt::Task<base::Status> OllamaRelay::conclude(Call& call) {
  auto figures = this->figures(call);
  if (call.request->returns_context) {
    auto context = co_await context_after(call);
    if (!context) co_return base::pass(context);
    figures.context = std::move(*context);
  }
  figures.total = clock_.now() - call.seen.received;
  auto last = call.answer->finish(clock_.wall(), figures);
  if (!last) co_return base::pass(last);
  if (!call.request->stream) co_return co_await tell_whole(call, 200, std::move(*last));
  if (auto said = co_await say(call, *last); !said) co_return said;
  co_return co_await call.exchange.end();
}

// The tokens of all that was said, for a client that goes on from here.
rt::Task<base::Result<Json>> OllamaRelay::context_after(Call& call) {
  if (call.rendered.empty()) {
    auto prompt = co_await small_question(call, "/apply-template", template_question(call.request->upstream));
    if (!prompt) co_return base::pass(prompt);
    call.rendered = text_at(*prompt, "prompt");
  }
  auto tokens = co_await small_question(call, "/tokenize", text_question(call.rendered + call.answer->text()));
  if (!tokens) co_return base::pass(tokens);
  co_return tokens->value("tokens", Json::array());
}

// One object: as a whole answer, or as the last line of one that has begun.
rt::Task<base::Status> OllamaRelay::tell_whole(Call& call, unsigned status, std::string body) {
  if (call.exchange.answered()) {
    if (auto written = co_await call.exchange.write(body); !written) co_return written;
    co_return co_await call.exchange.end();
  }
  call.seen.status = static_cast<int>(status);
  Reply reply{.status = status,
              .content_type = "application/json; charset=utf-8",
              .body = std::move(body),
              .headers = headers_for(call)};
  co_return co_await call.exchange.reply(std::move(reply));
}

std::vector<Header> OllamaRelay::headers_for(Call& call) const {
  std::vector<Header> headers;
  observer_.add_timing(call, headers);
  const auto context = call.lease ? call.lease->context() : std::nullopt;
  if (context && call.request->context.value_or(0) > static_cast<std::int64_t>(*context))
    headers.emplace_back("x-hearth-context", std::to_string(*context));
  return headers;
}

OllamaAnswer::Figures OllamaRelay::figures(const Call& call) const {
  OllamaAnswer::Figures figures;
  figures.total = clock_.now() - call.seen.received;
  if (call.seen.start && call.seen.admitted) figures.load = *call.seen.admitted - *call.seen.asked;
  return figures;
}

// The answer that is not the one asked for. Once lines have gone out their status has too: the error becomes the last
// line.
rt::Task<void> OllamaRelay::fail(Call& call, base::Error error) {
  const std::string_view model = call.request ? std::string_view(call.request->model) : std::string_view{};
  Reply reply = ollama_error_reply(error, model);
  call.seen.error = in_ollamas_words(std::move(error), model).message;
  base::Status told;
  if (!call.exchange.answered()) {
    call.seen.status = static_cast<int>(reply.status);
    told = co_await call.exchange.reply(std::move(reply));
  } else {
    told = co_await call.exchange.write(reply.body + "\n");
    if (told) told = co_await call.exchange.end();
  }
  if (!told) spdlog::debug("request {}: {}", call.seen.id, told.error().message);
}

void OllamaRelay::finish(Call& call) {
  if (call.answer) call.seen.timings = call.answer->timings();
  observer_.record(call, call.answered && !call.seen.error);
}

}  // namespace hearth::http
