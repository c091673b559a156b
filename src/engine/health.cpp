#include "engine/health.h"

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "rt/deadline.h"

namespace hearth::engine {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

rt::Task<Health> ask(std::string socket_path) {
  asio::local::stream_protocol::socket socket(co_await asio::this_coro::executor);
  const asio::local::stream_protocol::endpoint endpoint(socket_path);
  const auto [refused] = co_await socket.async_connect(endpoint, rt::kTuple);
  if (refused) co_return Health::silent;
  http::request<http::empty_body> request(http::verb::get, "/health", 11);
  request.set(http::field::host, "engine");
  request.set(http::field::connection, "close");
  const auto [unsent, sent] = co_await http::async_write(socket, request, rt::kTuple);
  if (unsent) co_return Health::silent;
  boost::beast::flat_buffer buffer(16384);
  http::response_parser<http::string_body> parser;
  parser.body_limit(8192);
  const auto [unread, received] = co_await http::async_read(socket, buffer, parser, rt::kTuple);
  if (unread) co_return Health::silent;
  co_return parser.get().result() == http::status::ok ? Health::ready : Health::loading;
}

}  // namespace

rt::Task<Health> ask_health(std::string socket_path, std::chrono::steady_clock::duration limit) {
  const auto answer = co_await rt::within(limit, ask(std::move(socket_path)));
  co_return answer.value_or(Health::silent);
}

}  // namespace hearth::engine
