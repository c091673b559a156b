#include "http/observed_call.h"

#include <spdlog/spdlog.h>

#include <boost/asio/experimental/awaitable_operators.hpp>

namespace hearth::http {

using base::ErrorCode;

namespace {

// What a request is recorded with when its client left before the answer was whole (nginx's convention).
constexpr int kClientClosedRequest = 499;
// And when the server stopped before anything was answered.
constexpr int kServerStopped = 503;

}  // namespace

ObservedCall::ObservedCall(domain::Api api, Exchange& with) : exchange(with) {
  seen.id = with.id();
  seen.api = api;
  seen.received = with.received();
  seen.started_at = with.started_at();
}

rt::Task<void> CallObserver::while_client_stays(ObservedCall& call, rt::Task<void> answer) const {
  using namespace boost::asio::experimental::awaitable_operators;
  const auto first = co_await (std::move(answer) || call.exchange.client_left());
  const auto state = co_await rt::asio::this_coro::cancellation_state;
  if (first.index() == 0 || state.cancelled() != rt::asio::cancellation_type::none) co_return;
  call.exchange.close_afterwards();
  call.seen.status = kClientClosedRequest;
  call.seen.error = "the client left before the answer was complete";
}

void CallObserver::admitted(ObservedCall& call) const {
  call.seen.admitted = clock_.now();
  call.lease->describe(call.seen);
}

rt::Task<base::Status> CallObserver::ask(ObservedCall& call, std::string path, std::string body) const {
  body = co_await call.lease->fit(path, std::move(body), call.seen);
  call.engine = std::make_unique<EngineStream>(co_await rt::asio::this_coro::executor);
  co_return co_await call.engine->ask(call.lease->socket_path(), path, body, [&] {
    call.seen.sent = clock_.now();
    call.lease->note_sent();
  });
}

void CallObserver::note(ObservedCall& call, bool prefill_began, bool first_token) const {
  if (!call.seen.prefill_began && prefill_began) call.seen.prefill_began = clock_.now();
  if (!call.seen.first_token && first_token) call.seen.first_token = clock_.now();
}

rt::Task<std::optional<base::Error>> CallObserver::ended(ObservedCall& call, base::Status done) const {
  call.answered = done.has_value();
  if (call.answered) co_return std::nullopt;
  base::Error error = std::move(done.error());
  if (call.exchange.broken()) {
    call.seen.status = kClientClosedRequest;
    call.seen.error = std::move(error.message);
    co_return std::nullopt;
  }
  if (error.code == ErrorCode::engine_failed && call.engine && !call.engine->silent())
    error = co_await call.lease->why_gone();
  co_return std::move(error);
}

void CallObserver::add_timing(ObservedCall& call, std::vector<Header>& headers) const {
  if (call.seen.cold_start) headers.emplace_back("x-hearth-cold-start", call.seen.cold_start->why);
  call.seen.finished = clock_.now();  // as if it ended here: what the header can know
  if (std::string timing = journal_.header_timing(call.seen); !timing.empty())
    headers.emplace_back("Server-Timing", std::move(timing));
}

void CallObserver::record(ObservedCall& call, bool well) const {
  call.seen.finished = clock_.now();
  if (call.lease) call.lease->conclude(call.seen, well);
  if (!call.answered && !call.seen.error) call.seen.error = "the server stopped before the answer was complete";
  if (call.seen.status == 0) call.seen.status = kServerStopped;
  if (call.seen.error) spdlog::info("request {} ended with {}: {}", call.seen.id, call.seen.status, *call.seen.error);
  journal_.record(std::move(call.seen));
}

}  // namespace hearth::http
