#include "engine/engine_call.h"

#include <fmt/format.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "base/text.h"
#include "rt/deadline.h"

namespace hearth::engine {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using base::ErrorCode;
using Answer = base::Result<domain::Json>;

std::unexpected<base::Error> broke_off(std::string_view doing, const rt::error_code& error) {
  const bool cancelled = error == asio::error::operation_aborted;
  return base::fail(cancelled ? ErrorCode::cancelled : ErrorCode::engine_failed,
                    fmt::format("the engine broke off while {} ({})", doing, error.message()));
}

http::request<http::string_body> request_of(std::string target, std::string body) {
  http::request<http::string_body> request(body.empty() ? http::verb::get : http::verb::post, target, 11);
  request.set(http::field::host, "engine");
  request.set(http::field::connection, "close");
  request.set(http::field::content_type, "application/json");
  request.body() = std::move(body);
  request.prepare_payload();
  return request;
}

Answer judged(const std::string& target, unsigned status, const std::string& body) {
  domain::Json json = domain::Json::parse(body, nullptr, false);
  if (status != 200)
    return base::fail(ErrorCode::engine_failed,
                      fmt::format("the engine answered {} with {}: {}", target, status, base::printable(body, 200)));
  if (json.is_discarded())
    return base::fail(ErrorCode::engine_failed, fmt::format("the engine's answer to {} is not JSON", target));
  return json;
}

rt::Task<Answer> ask(std::string socket_path, std::string target, std::string body) {
  asio::local::stream_protocol::socket socket(co_await asio::this_coro::executor);
  const asio::local::stream_protocol::endpoint endpoint(socket_path);
  const auto [refused] = co_await socket.async_connect(endpoint, rt::kTuple);
  if (refused) co_return broke_off("being connected to", refused);
  const auto request = request_of(target, std::move(body));
  const auto [unsent, sent] = co_await http::async_write(socket, request, rt::kTuple);
  if (unsent) co_return broke_off("taking a question", unsent);
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kLargestEngineAnswer);
  const auto [unread, received] = co_await http::async_read(socket, buffer, parser, rt::kTuple);
  if (unread) co_return broke_off("answering", unread);
  co_return judged(target, parser.get().result_int(), parser.get().body());
}

}  // namespace

rt::Task<Answer> call_engine(std::string socket_path, std::string target, std::string body,
                             std::chrono::milliseconds limit) {
  const std::string what = target;
  auto answer = co_await rt::within(limit, ask(std::move(socket_path), std::move(target), std::move(body)));
  if (answer) co_return std::move(*answer);
  co_return base::fail(ErrorCode::timeout,
                       fmt::format("the engine did not answer {} within {} ms", what, limit.count()));
}

}  // namespace hearth::engine
