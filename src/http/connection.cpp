#include "http/connection.h"

#include <spdlog/spdlog.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/beast/http/read.hpp>

#include "http/asker.h"
#include "http/respond.h"

namespace hearth::http {
namespace {

using base::ErrorCode;
namespace bhttp = beast::http;

domain::Api dialect_of(const Exchange& exchange) {
  if (exchange.path().starts_with("/hearth/")) return domain::Api::native;
  return exchange.path().starts_with("/api/") ? domain::Api::ollama : domain::Api::openai;
}

Caller caller_of(const Exchange& exchange) {
  const auto& head = exchange.head();
  return {.host = head[bhttp::field::host],
          .origin = head[bhttp::field::origin],
          .authorization = head[bhttp::field::authorization],
          .x_api_key = head["x-api-key"]};
}

// What a browser asks before a page's request.
bool is_preflight(const Exchange& exchange) {
  return exchange.head().method() == bhttp::verb::options && is_own_page(exchange.head()[bhttp::field::origin]);
}

Reply preflight_reply(const Exchange& exchange) {
  Reply reply{.status = 204, .content_type = {}, .body = {}, .headers = {}};
  reply.headers.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE");
  const std::string_view wanted = exchange.head()[bhttp::field::access_control_request_headers];
  if (!wanted.empty()) reply.headers.emplace_back("Access-Control-Allow-Headers", wanted);
  return reply;
}

}  // namespace

Connection::Connection(tcp::socket socket, const ConnectionContext& context)
    : stream_(std::move(socket)), context_(context) {
  rt::error_code ignored;  // an option that cannot be set costs latency, not correctness
  stream_.socket().set_option(tcp::no_delay(true), ignored);
  stream_.socket().non_blocking(true, ignored);  // Exchange::write tries before it waits
}

rt::Task<void> Connection::run() {
  while (co_await serve_one() == Next::again) {
  }
  rt::error_code ignored;  // the peer may have closed first
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
}

void Connection::finish_soon() {
  finishing_ = true;
  if (!in_request_) stream_.cancel();
}

// A connection that is idle between requests holds no deadline of the head: that one begins with its first byte.
rt::Task<bool> Connection::wait_for_request() {
  if (finishing_) co_return false;
  if (buffer_.size() > 0) co_return true;
  stream_.expires_after(context_.limits.idle_wait);
  const auto [error, read] = co_await stream_.async_read_some(buffer_.prepare(4096), rt::kTuple);
  buffer_.commit(read);
  co_return !error && !finishing_;
}

// Not by the stream's own deadline: that closes the socket, and the client is to be told why.
rt::Task<rt::error_code> Connection::read_head(Exchange::Parser& parser) {
  using namespace rt::asio::experimental::awaitable_operators;
  stream_.expires_never();
  rt::asio::steady_timer limit(stream_.get_executor(), context_.limits.head_wait);
  const auto first =
      co_await (bhttp::async_read_header(stream_, buffer_, parser, rt::kTuple) || limit.async_wait(rt::kTuple));
  if (first.index() == 1) co_return beast::error::timeout;
  co_return std::get<0>(std::get<0>(first));
}

rt::Task<Connection::Next> Connection::serve_one() {
  if (!co_await wait_for_request()) co_return Next::close;
  in_request_ = true;
  Exchange::Parser parser;
  parser.header_limit(context_.limits.head);
  parser.body_limit(boost::none);
  const rt::error_code error = co_await read_head(parser);
  Exchange exchange(stream_, buffer_, parser, context_.limits, context_.new_id(), context_.clock);
  if (error) {
    co_await refuse_head(exchange, error);
    co_return Next::close;
  }
  co_await dispatch(exchange);
  in_request_ = false;
  if (exchange.reusable()) co_return finishing_ ? Next::close : Next::again;
  if (exchange.answered()) co_await linger();
  co_return Next::close;
}

rt::Task<void> Connection::refuse_head(Exchange& exchange, rt::error_code error) {
  if (error == bhttp::error::end_of_stream || error == rt::asio::error::operation_aborted ||
      error == rt::asio::error::connection_reset || error == bhttp::error::partial_message) {
    co_return;
  }
  base::Error reason{ErrorCode::bad_request, "this is not an HTTP/1.1 request (" + error.message() + "); speak HTTP"};
  unsigned status = 400;
  if (error == beast::error::timeout) {
    reason.message = "the request's headers did not end in time; send them without pauses";
    status = 408;
  } else if (error == bhttp::error::header_limit || error == bhttp::error::buffer_overflow) {
    reason.message = fmt::format("the request's headers are larger than {} bytes; send fewer", context_.limits.head);
    status = 431;
  }
  exchange.close_afterwards();
  Reply reply = error_reply(dialect_of(exchange), reason);
  reply.status = status;
  if (co_await exchange.reply(std::move(reply))) co_await linger();
}

// The answer to a request that is not handed on at all; empty when it is.
std::optional<Reply> Connection::reply_without_handler(const Exchange& exchange, const Router::Match& match) const {
  const domain::Api dialect = dialect_of(exchange);
  if (match.path_known && is_preflight(exchange) && may_come(context_.rules, caller_of(exchange)))
    return preflight_reply(exchange);
  if (auto allowed = may_ask(context_.rules, caller_of(exchange)); !allowed)
    return error_reply(dialect, allowed.error());
  if (auto known = check_class(exchange.head()[kClassHeader]); !known) return error_reply(dialect, known.error());
  if (match.handler != nullptr) return std::nullopt;
  if (!match.path_known)
    return error_reply(dialect,
                       {ErrorCode::not_found, "there is nothing at this path; docs/http-api.md lists what there is"});
  Reply reply = error_reply(
      dialect, {ErrorCode::not_found, "this path does not take that method; docs/http-api.md lists what it takes"});
  reply.status = 405;
  return reply;
}

rt::Task<void> Connection::dispatch(Exchange& exchange) {
  if (is_own_page(exchange.head()[bhttp::field::origin])) exchange.let_page_read();
  Router::Match match = context_.router.match(exchange.head().method(), exchange.path());
  if (auto reply = reply_without_handler(exchange, match)) {
    // An unread body makes the connection unusable; reusable() sees that.
    if (auto sent = co_await exchange.reply(std::move(*reply)); !sent) spdlog::debug("{}", sent.error().message);
    co_return;
  }
  exchange.set_parts(std::move(match.parts));
  co_await (*match.handler)(exchange);
}

// Reads on for a moment after an answer that came before the end of the request, so that the client gets to see it:
// closing with unread data would send a reset that overtakes the answer (RFC 9112, section 9.6).
rt::Task<void> Connection::linger() {
  constexpr std::size_t kMost = 512U << 20;
  rt::error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  std::vector<char> scratch(64U << 10);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (std::size_t total = 0; total < kMost;) {
    stream_.expires_at(deadline);
    const auto [error, read] = co_await stream_.async_read_some(rt::asio::buffer(scratch), rt::kTuple);
    if (error) co_return;
    total += read;
  }
}

}  // namespace hearth::http
