#include "http/relay.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/scope_exit.h"
#include "http/answer_builder.h"
#include "http/answer_watch.h"
#include "http/asker.h"
#include "http/error_reply.h"
#include "http/observed_call.h"
#include "http/respond.h"

namespace hearth::http {

using base::ErrorCode;

// All that belongs to one request while it is served.
struct Relay::Call : ObservedCall {
  Call(Endpoint which, Exchange& with) : ObservedCall(domain::Api::openai, with), endpoint(which) {}

  Endpoint endpoint;
  std::optional<RelayBody> plan;
  std::unique_ptr<AnswerWatch> watch;
};

rt::Task<void> Relay::serve(Endpoint endpoint, Exchange& exchange) {
  Call call(endpoint, exchange);
  // Recorded on every way out, also when the server stops and this coroutine is unwound.
  const base::ScopeExit record([&] { finish(call); });
  auto prepared = co_await prepare(call);
  if (!prepared) {
    co_await fail(call, std::move(prepared.error()));
    co_return;
  }
  co_await observer_.while_client_stays(call, answer(call));
}

rt::Task<base::Status> Relay::prepare(Call& call) {
  auto body = co_await call.exchange.read_body();
  if (!body) co_return base::pass(body);
  auto plan = plan_relay(call.endpoint, std::move(*body));
  if (!plan) co_return base::pass(plan);
  call.plan = std::move(*plan);
  call.seen.model = call.plan->model;
  call.seen.asked = clock_.now();
  co_return base::Status{};
}

rt::Task<void> Relay::answer(Call& call) {
  auto lease = co_await gate_.acquire(call.plan->model, asker_of(call.exchange, call.plan->keep_alive));
  if (!lease) {
    co_await fail(call, std::move(lease.error()));
    co_return;
  }
  call.lease = std::move(*lease);
  observer_.admitted(call);
  auto done = co_await observer_.ask(call, std::string(path_of(call.endpoint)), std::move(call.plan->upstream));
  if (done) done = co_await carry_answer(call);
  if (auto error = co_await observer_.ended(call, std::move(done))) co_await fail(call, std::move(*error));
}

// Not a coroutine: GCC 12 destroys a task twice that a conditional expression chose inside co_await.
rt::Task<base::Status> Relay::carry_answer(Call& call) {
  if (!call.engine->content_type().starts_with("text/event-stream")) return carry_plain(call);
  return call.plan->client_streams ? carry_stream(call) : carry_whole(call);
}

// Marks what the watch has seen by now.
void Relay::note(Call& call) const { observer_.note(call, call.watch->prefill_began(), call.watch->first_token()); }

rt::Task<base::Status> Relay::carry_stream(Call& call) {
  call.watch = std::make_unique<AnswerWatch>(call.plan->client_progress);
  call.seen.status = static_cast<int>(call.engine->status());
  if (auto begun = co_await call.exchange.begin(call.engine->status(), headers_for(call, true)); !begun)
    co_return begun;
  std::string piece;
  std::string out;
  do {
    if (auto read = co_await call.engine->read(piece); !read) co_return read;
    out.clear();
    call.watch->feed(piece, out);
    if (piece.empty()) call.watch->finish(out);
    note(call);
    if (auto written = co_await call.exchange.write(out); !written) co_return written;
  } while (!piece.empty());
  call.seen.error = call.watch->error();
  co_return co_await call.exchange.end();
}

rt::Task<base::Status> Relay::carry_whole(Call& call) {
  call.watch = std::make_unique<AnswerWatch>(false);
  AnswerBuilder builder(call.endpoint);
  std::string piece;
  std::string ignored;  // nothing goes on to the client piece by piece
  std::size_t total = 0;
  do {
    if (auto read = co_await call.engine->read(piece); !read) co_return read;
    call.watch->feed(piece, ignored);
    ignored.clear();
    note(call);
    builder.feed(piece);
    total += piece.size();
    if (total > kLargestAnswer)
      co_return base::fail(ErrorCode::too_large, "the answer is larger than 64 MB; ask for it with \"stream\": true");
  } while (!piece.empty());
  if (builder.error()) {
    call.seen.error = call.watch->error();
    co_return co_await reply_whole(call, 500, builder.build_error());
  }
  if (!builder.complete())
    co_return base::fail(ErrorCode::engine_failed, "the engine's answer ended before it was complete");
  co_return co_await reply_whole(call, call.engine->status(), builder.build());
}

// An answer that is no event stream: embeddings, and the engine's own refusals.
rt::Task<base::Status> Relay::carry_plain(Call& call) {
  auto body = co_await call.engine->read_all(kLargestAnswer);
  if (!body) co_return base::pass(body);
  if (call.engine->status() >= 400)
    call.seen.error = fmt::format("the engine refused the request: {}", body->substr(0, 500));
  call.seen.timings = timings_in(*body);
  co_return co_await reply_whole(call, call.engine->status(), std::move(*body));
}

rt::Task<base::Status> Relay::reply_whole(Call& call, unsigned status, std::string body) {
  call.seen.status = static_cast<int>(status);
  Reply reply{.status = status,
              .content_type = "application/json; charset=utf-8",
              .body = std::move(body),
              .headers = headers_for(call, false)};
  co_return co_await call.exchange.reply(std::move(reply));
}

std::vector<Header> Relay::headers_for(Call& call, bool stream) const {
  std::vector<Header> headers;
  if (stream) {
    headers = {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  }
  observer_.add_timing(call, headers);
  return headers;
}

// The answer that is not the one asked for. Once a stream has begun its status is out: the error becomes its last
// event.
rt::Task<void> Relay::fail(Call& call, base::Error error) {
  call.seen.error = error.message;
  base::Status told;
  if (!call.exchange.answered()) {
    call.seen.status = static_cast<int>(status_of(error.code));
    told = co_await call.exchange.reply(error_reply(domain::Api::openai, error));
  } else {
    const std::string event = "data: " + error_body(domain::Api::openai, error) + "\n\n";
    told = co_await call.exchange.write(event);
    if (told) told = co_await call.exchange.end();
  }
  if (!told) spdlog::debug("request {}: {}", call.seen.id, told.error().message);
}

void Relay::finish(Call& call) {
  if (call.watch) {
    if (auto timings = call.watch->timings()) call.seen.timings = timings;
  }
  observer_.record(call, call.answered);
}

}  // namespace hearth::http
