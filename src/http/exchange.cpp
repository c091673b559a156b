#include "http/exchange.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <boost/beast/core/buffers_suffix.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <tuple>

#include "base/text.h"
#include "rt/watchdog.h"

namespace hearth::http {
namespace {

using base::ErrorCode;
namespace bhttp = beast::http;

base::Error read_error(const rt::error_code& error) {
  if (error == beast::error::timeout)
    return {ErrorCode::timeout, "the request's body stopped coming; send it without pauses"};
  return {ErrorCode::io, "the client left while its request was read (" + error.message() + ")"};
}

}  // namespace

std::size_t grown_room(std::size_t size, std::optional<std::uint64_t> declared) {
  const std::size_t grown = std::max<std::size_t>(64U << 10, size * 2);
  return static_cast<std::size_t>(std::min<std::uint64_t>(grown, declared.value_or(grown)));
}

Exchange::Exchange(beast::tcp_stream& stream, beast::flat_buffer& buffer, Parser& parser, const Limits& limits,
                   std::string id, const base::Clock& clock)
    : stream_(stream),
      buffer_(buffer),
      parser_(parser),
      limits_(limits),
      id_(std::move(id)),
      received_(clock.now()),
      started_at_(clock.wall()) {}

std::string Exchange::peer_address() const {
  rt::error_code gone;
  const auto peer = stream_.socket().remote_endpoint(gone);
  return gone ? std::string() : peer.address().to_string();
}

std::string_view Exchange::path() const {
  const std::string_view target = head().target();
  return target.substr(0, target.find('?'));
}

std::string_view Exchange::query(std::string_view key) const {
  const std::string_view target = head().target();
  const auto mark = target.find('?');
  if (mark == std::string_view::npos) return {};
  for (const std::string_view pair : base::split(target.substr(mark + 1), '&')) {
    const auto equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == key) return pair.substr(equals + 1);
  }
  return {};
}

std::optional<std::uint64_t> Exchange::content_length() const {
  const auto length = parser_.content_length();
  return length ? std::optional<std::uint64_t>(*length) : std::nullopt;
}

rt::Task<base::Status> Exchange::send_continue() {
  if (continue_sent_ || !beast::iequals(head()[bhttp::field::expect], "100-continue")) co_return base::Status{};
  continue_sent_ = true;
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  co_return co_await send(rt::asio::buffer(kContinue));
}

// Not by the stream's own deadline: that closes the socket, and the client is to be told why.
rt::Task<base::Result<std::size_t>> Exchange::read_some(std::span<char> into) {
  if (parser_.is_done()) co_return 0;
  if (auto sent = co_await send_continue(); !sent) co_return base::pass(sent);
  auto& body = parser_.get().body();
  body.data = into.data();
  body.size = into.size();
  bool silent = false;
  rt::Watchdog watchdog(stream_.get_executor(), limits_.transfer_wait, [&] {
    silent = true;
    stream_.cancel();
  });
  rt::error_code error;
  while (!error && !silent && body.size > 0 && !parser_.is_done()) {
    std::size_t read = 0;
    std::tie(error, read) = co_await bhttp::async_read_some(stream_, buffer_, parser_, rt::kTuple);
    if (error == bhttp::error::need_buffer) error = {};
    watchdog.touch();
  }
  if (silent) error = beast::error::timeout;
  if (error) {
    close_ = true;
    co_return std::unexpected(read_error(error));
  }
  co_return into.size() - body.size;
}

rt::Task<base::Result<std::string>> Exchange::read_body() {
  const auto too_large = [this] {
    close_ = true;
    return base::fail(
        ErrorCode::too_large,
        fmt::format("the request's body is larger than {}; send less, or raise max_body in the configuration",
                    base::format_bytes(limits_.body)));
  };
  if (content_length().value_or(0) > limits_.body) co_return too_large();
  std::string body;
  std::size_t used = 0;
  for (;;) {
    if (used == body.size() && !parser_.is_done()) body.resize(grown_room(used, content_length()));
    auto read = co_await read_some(std::span(body).subspan(used));
    if (!read) co_return base::pass(read);
    used += *read;
    if (used > limits_.body) co_return too_large();
    if (parser_.is_done()) break;
  }
  body.resize(used);
  co_return body;
}

bhttp::response<bhttp::empty_body> Exchange::response_head(unsigned status, const std::vector<Header>& headers) const {
  bhttp::response<bhttp::empty_body> response;
  response.version(head().version());
  response.result(status);
  response.set(bhttp::field::server, "hearth");
  for (const auto& [name, value] : headers)
    response.insert(name, value);
  response.set("x-hearth-request-id", id_);
  if (page_reads_) {
    response.set(bhttp::field::access_control_allow_origin, head()[bhttp::field::origin]);
    response.set(bhttp::field::vary, "Origin");
  }
  response.keep_alive(keeps_open());
  return response;
}

bool Exchange::keeps_open() const { return !close_ && head().keep_alive() && parser_.is_done(); }

bool Exchange::reusable() const { return finished_ && keeps_open(); }

template <typename Buffers>
rt::Task<base::Status> Exchange::send(Buffers buffers) {
  beast::buffers_suffix rest(buffers);
  rt::error_code error;
  while (!error && rt::asio::buffer_size(rest) > 0) {
    std::size_t count = 0;
    stream_.expires_after(limits_.transfer_wait);
    std::tie(error, count) = co_await stream_.async_write_some(rest, rt::kTuple);
    rest.consume(count);
  }
  stream_.expires_never();
  co_return sent(error);
}

base::Status Exchange::sent(const rt::error_code& error) {
  if (!error) return {};
  close_ = true;
  broken_ = true;
  return base::fail(ErrorCode::io, "the client left while it was answered (" + error.message() + ")");
}

rt::Task<base::Status> Exchange::reply(Reply reply) {
  answered_ = true;
  auto response = response_head(reply.status, reply.headers);
  if (response.result() != bhttp::status::no_content) {
    response.set(bhttp::field::content_type, reply.content_type);
    response.content_length(reply.body.size());
  }
  if (head().method() == bhttp::verb::head) reply.body.clear();
  const std::string text = fmt::format("{}", fmt::streamed(response.base()));
  const std::array<rt::asio::const_buffer, 2> buffers = {rt::asio::buffer(text), rt::asio::buffer(reply.body)};
  auto done = co_await send(buffers);
  finished_ = done.has_value();
  co_return done;
}

rt::Task<base::Status> Exchange::begin(unsigned status, std::vector<Header> headers) {
  answered_ = true;
  chunked_ = head().version() >= 11;
  if (!chunked_) close_ = true;
  auto response = response_head(status, headers);
  response.chunked(chunked_);
  const std::string text = fmt::format("{}", fmt::streamed(response.base()));
  co_return co_await send(rt::asio::buffer(text));
}

// A piece nearly always fits into the socket's own buffer: then there is nothing to wait for and no deadline to set.
rt::Task<base::Status> Exchange::write(std::string_view piece) {
  if (piece.empty()) co_return base::Status{};
  const std::string size = chunked_ ? fmt::format("{:x}\r\n", piece.size()) : std::string();
  const std::string_view end = chunked_ ? "\r\n" : "";
  const std::array<rt::asio::const_buffer, 3> whole = {rt::asio::buffer(size), rt::asio::buffer(piece),
                                                       rt::asio::buffer(end)};
  rt::error_code error;
  const std::size_t count = stream_.socket().write_some(whole, error);
  if (error && error != rt::asio::error::would_block) co_return sent(error);
  beast::buffers_suffix rest(whole);
  rest.consume(count);
  if (rt::asio::buffer_size(rest) == 0) co_return base::Status{};
  co_return co_await send(rest);
}

rt::Task<base::Status> Exchange::end() {
  if (!chunked_) co_return base::Status{};
  auto done = co_await send(bhttp::make_chunk_last());
  finished_ = done.has_value();
  co_return done;
}

rt::Task<void> Exchange::client_left() {
  auto& socket = stream_.socket();
  const auto [error] = co_await socket.async_wait(tcp::socket::wait_read, rt::kTuple);
  if (error) co_return;
  char byte = 0;
  rt::error_code peeked;
  const std::size_t there = socket.receive(rt::asio::buffer(&byte, 1), tcp::socket::message_peek, peeked);
  if (there == 0 || peeked) co_return;
  rt::asio::steady_timer never(co_await rt::asio::this_coro::executor, rt::asio::steady_timer::time_point::max());
  co_await never.async_wait(rt::kTuple);
}

}  // namespace hearth::http
