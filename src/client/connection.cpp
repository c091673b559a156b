#include "client/connection.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <limits>
#include <utility>

namespace hearth::client {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{200};

std::string seconds(std::chrono::milliseconds limit) {
  return fmt::format("{:g} s", std::chrono::duration<double>(limit).count());
}

}  // namespace

Connection::Connection(Limits limits, std::function<void()> while_waiting)
    : limits_(limits), while_waiting_(std::move(while_waiting)), next_tick_(Steady::now() + kTick) {}

Connection::~Connection() {
  error_code ignored;  // it is going away
  socket_.close(ignored);
  if (io_.stopped()) io_.restart();
  io_.run();
}

auto Connection::completes(Pending& pending) {
  pending = {false, {}};
  return [&pending](const error_code& error, auto&&...) { pending = {true, error}; };
}

void Connection::step(Steady::time_point until) {
  if (io_.stopped()) io_.restart();
  io_.run_one_until(std::min(until, next_tick_));
  if (Steady::now() < next_tick_) return;
  next_tick_ = Steady::now() + kTick;
  if (while_waiting_) while_waiting_();
}

base::Status Connection::finish(Pending& pending, std::optional<std::chrono::milliseconds> limit,
                                std::string_view what) {
  const auto until = limit ? Steady::now() + *limit : Steady::time_point::max();
  while (!pending.done && Steady::now() < until)
    step(until);
  if (pending.done) {
    if (!pending.error) return {};
    if (pending.error == http::error::end_of_stream)
      return base::fail(base::ErrorCode::io, "the server hung up without an answer");
    return base::fail(base::ErrorCode::io, fmt::format("{}: {}", what, pending.error.message()));
  }
  error_code ignored;  // what matters is that nothing came in time
  socket_.close(ignored);
  while (!pending.done)
    step(Steady::now() + kTick);
  return base::fail(base::ErrorCode::timeout, fmt::format("{}: nothing came for {}", what, seconds(*limit)));
}

base::Status Connection::connect(const Endpoint& endpoint) {
  asio::ip::tcp::resolver resolver(io_);
  error_code error;
  const auto addresses = resolver.resolve(endpoint.host, endpoint.port, error);
  if (error)
    return base::fail(base::ErrorCode::not_found, fmt::format("looking up {}: {}", endpoint.host, error.message()));
  asio::async_connect(socket_, addresses, completes(writing_));
  if (auto connected = finish(writing_, limits_.connect, "connecting"); !connected) return connected;
  socket_.set_option(asio::ip::tcp::no_delay(true), error);
  socket_.set_option(asio::socket_base::keep_alive(true), error);
  for (const auto& [option, value] :
       {std::pair{TCP_KEEPIDLE, 60}, std::pair{TCP_KEEPINTVL, 15}, std::pair{TCP_KEEPCNT, 4}})
    (void)::setsockopt(socket_.native_handle(), IPPROTO_TCP, option, &value, sizeof value);  // else the kernel's own
  return {};
}

base::Status Connection::send(const http::request<http::string_body>& request) {
  http::async_write(socket_, request, completes(writing_));
  return finish(writing_, limits_.idle, "sending the request");
}

base::Status Connection::send_head(const http::request<http::empty_body>& request) {
  http::request_serializer<http::empty_body> serializer(request);
  http::async_write_header(socket_, serializer, completes(writing_));
  return finish(writing_, limits_.idle, "sending the request");
}

base::Status Connection::send_some(std::string_view bytes) {
  asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()), completes(writing_));
  return finish(writing_, limits_.idle, "sending");
}

void Connection::expect_answer() {
  parser_.emplace();
  parser_->body_limit(std::numeric_limits<std::uint64_t>::max());  // the reader of the body has limits of its own
  http::async_read_header(socket_, buffer_, *parser_, completes(reading_));
}

base::Result<Connection::Head> Connection::head() {
  if (auto read = finish(reading_, limits_.answer, "waiting for the answer"); !read) return base::pass(read);
  const auto& message = parser_->get();
  Head head;
  head.status = static_cast<int>(message.result_int());
  head.content_type = message[http::field::content_type];
  head.request_id = message["x-hearth-request-id"];
  if (message.count(http::field::retry_after) > 0) head.retry_after = message[http::field::retry_after];
  return head;
}

base::Result<std::optional<std::string_view>> Connection::next() {
  while (!parser_->is_done()) {
    auto& body = parser_->get().body();
    body.data = piece_.data();
    body.size = piece_.size();
    body.more = true;
    http::async_read_some(socket_, buffer_, *parser_, completes(reading_));
    auto read = finish(reading_, limits_.idle, "reading the answer");
    if (reading_.error == http::error::need_buffer) read = {};
    if (reading_.error == http::error::partial_message) {
      return base::fail(base::ErrorCode::io, "the connection ended in the middle of the answer");
    }
    if (!read) return base::pass(read);
    if (const auto size = piece_.size() - body.size; size > 0) return std::string_view(piece_.data(), size);
  }
  return std::nullopt;
}

}  // namespace hearth::client
