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

Answer judged(const std::string& target, const EngineAnswer& answer) {
  domain::Json json = domain::Json::parse(answer.body, nullptr, false);
  if (answer.status != 200)
    return base::fail(ErrorCode::engine_failed, fmt::format("the engine answered {} with {}: {}", target, answer.status,
                                                            base::printable(answer.body, 200)));
  if (json.is_discarded())
    return base::fail(ErrorCode::engine_failed, fmt::format("the engine's answer to {} is not JSON", target));
  return json;
}

}  // namespace

std::string slot_target(unsigned slot, std::string_view action) {
  return fmt::format("/slots/{}?action={}", slot, action);
}

std::string slot_file(const std::string& name) {
  const domain::Json json = {{"filename", name}};
  return json.dump();
}

rt::Task<base::Result<EngineAnswer>> ask_engine(std::string socket_path, std::string target, std::string body,
                                                std::size_t most) {
  asio::local::stream_protocol::socket socket(co_await asio::this_coro::executor);
  const asio::local::stream_protocol::endpoint endpoint(socket_path);
  const auto [refused] = co_await socket.async_connect(endpoint, rt::kTuple);
  if (refused) co_return broke_off("being connected to", refused);
  const auto request = request_of(std::move(target), std::move(body));
  const auto [unsent, sent] = co_await http::async_write(socket, request, rt::kTuple);
  if (unsent) co_return broke_off("taking a question", unsent);
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(most);
  const auto [unread, received] = co_await http::async_read(socket, buffer, parser, rt::kTuple);
  if (unread) co_return broke_off("answering", unread);
  EngineAnswer answer{.status = parser.get().result_int(), .body = std::move(parser.get().body())};
  co_return answer;
}

rt::Task<Answer> call_engine(std::string socket_path, std::string target, std::string body,
                             std::chrono::milliseconds limit) {
  auto answer =
      co_await rt::within(limit, ask_engine(std::move(socket_path), target, std::move(body), kLargestEngineAnswer));
  if (!answer)
    co_return base::fail(ErrorCode::timeout,
                         fmt::format("the engine did not answer {} within {} ms", target, limit.count()));
  if (!*answer) co_return base::pass(*answer);
  co_return judged(target, **answer);
}

}  // namespace hearth::engine
