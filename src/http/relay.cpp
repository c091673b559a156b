#include "http/relay.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "base/scope_exit.h"
#include "http/answer_builder.h"
#include "http/answer_watch.h"
#include "http/asker.h"
#include "http/engine_stream.h"
#include "http/error_reply.h"
#include "http/respond.h"

namespace hearth::http {

using base::ErrorCode;

namespace {

// The largest whole answer that is put together in memory.
constexpr std::size_t kLargestAnswer = 64U << 20;
// What a request is recorded with when its client left before the answer was whole (nginx's convention).
constexpr int kClientClosedRequest = 499;
// And when the server stopped before anything was answered.
constexpr int kServerStopped = 503;

}  // namespace

// All that belongs to one request while it is served.
struct Relay::Call {
  Call(Endpoint which, Exchange& with) : endpoint(which), exchange(with) {
    seen.id = with.id();
    seen.api = domain::Api::openai;
    seen.received = with.received();
    seen.started_at = with.started_at();
  }

  Endpoint endpoint;
  Exchange& exchange;
  domain::RequestObservation seen;
  std::optional<RelayBody> plan;
  std::unique_ptr<EngineLease> lease;
  std::unique_ptr<EngineStream> engine;
  std::unique_ptr<AnswerWatch> watch;
  bool answered = false;  // the whole answer has been handed to the client's socket
};

rt::Task<void> Relay::serve(Endpoint endpoint, Exchange& exchange) {
  using namespace boost::asio::experimental::awaitable_operators;
  Call call(endpoint, exchange);
  // Recorded on every way out, also when the server stops and this coroutine is unwound.
  const base::ScopeExit record([&] { finish(call); });
  auto prepared = co_await prepare(call);
  if (!prepared) {
    co_await fail(call, std::move(prepared.error()));
    co_return;
  }
  const auto first = co_await (answer(call) || exchange.client_left());
  const auto state = co_await rt::asio::this_coro::cancellation_state;
  if (first.index() == 0 || state.cancelled() != rt::asio::cancellation_type::none) co_return;
  exchange.close_afterwards();
  call.seen.status = kClientClosedRequest;
  call.seen.error = "the client left before the answer was complete";
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
  call.seen.admitted = clock_.now();
  call.lease->describe(call.seen);
  co_await carry(call);
}

rt::Task<void> Relay::carry(Call& call) {
  call.engine = std::make_unique<EngineStream>(co_await rt::asio::this_coro::executor);
  auto done = co_await call.engine->ask(call.lease->socket_path(), path_of(call.endpoint), call.plan->upstream, [&] {
    call.seen.sent = clock_.now();
    call.lease->note_sent();
  });
  if (done) done = co_await carry_answer(call);
  call.answered = done.has_value();
  if (call.answered) co_return;
  base::Error error = std::move(done.error());
  if (error.code == ErrorCode::io) {  // only writing to the client fails like this; there is nobody to tell
    call.seen.status = kClientClosedRequest;
    call.seen.error = std::move(error.message);
    co_return;
  }
  if (error.code == ErrorCode::engine_failed) error = co_await call.lease->why_gone();
  co_await fail(call, std::move(error));
}

// Not a coroutine: GCC 12 destroys a task twice that a conditional expression chose inside co_await.
rt::Task<base::Status> Relay::carry_answer(Call& call) {
  if (!call.engine->content_type().starts_with("text/event-stream")) return carry_plain(call);
  return call.plan->client_streams ? carry_stream(call) : carry_whole(call);
}

// Marks what the watch has seen by now.
void Relay::note(Call& call) const {
  if (!call.seen.prefill_began && call.watch->prefill_began()) call.seen.prefill_began = clock_.now();
  if (!call.seen.first_token && call.watch->first_token()) call.seen.first_token = clock_.now();
}

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
  call.seen.finished = clock_.now();  // as if it ended here: what the header can know
  if (std::string timing = journal_.header_timing(call.seen); !timing.empty())
    headers.emplace_back("Server-Timing", std::move(timing));
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
  call.seen.finished = clock_.now();
  if (call.watch) {
    if (auto timings = call.watch->timings()) call.seen.timings = timings;
  }
  if (call.lease) call.lease->conclude(call.seen, call.answered);
  if (!call.answered && !call.seen.error) call.seen.error = "the server stopped before the answer was complete";
  if (call.seen.status == 0) call.seen.status = kServerStopped;
  if (call.seen.error) spdlog::info("request {} ended with {}: {}", call.seen.id, call.seen.status, *call.seen.error);
  journal_.record(std::move(call.seen));
}

}  // namespace hearth::http
