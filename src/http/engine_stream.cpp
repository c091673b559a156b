#include "http/engine_stream.h"

#include <fmt/format.h>

#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>

namespace hearth::http {
namespace {

using base::ErrorCode;
namespace beast = boost::beast;
namespace bhttp = beast::http;

// "15 minutes", "10 seconds".
std::string in_words(std::chrono::milliseconds limit) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(limit);
  if (minutes.count() > 1 && minutes == limit) return fmt::format("{} minutes", minutes.count());
  return fmt::format("{} seconds", std::chrono::duration<double>(limit).count());
}

}  // namespace

std::unexpected<base::Error> EngineStream::failed(std::string_view what, const rt::error_code& error,
                                                  std::chrono::milliseconds limit) {
  silent_ = error == beast::error::timeout;
  if (silent_)
    return base::fail(ErrorCode::engine_failed,
                      fmt::format("the engine was silent for {} while {}", in_words(limit), what));
  return base::fail(ErrorCode::engine_failed, fmt::format("the engine broke off while {} ({})", what, error.message()));
}

rt::Task<base::Status> EngineStream::send(const std::string& socket_path, std::string_view path,
                                          std::string_view body) {
  stream_.expires_after(limits_.connect);
  const auto [connect_error] = co_await stream_.async_connect(Protocol::endpoint(socket_path), rt::kTuple);
  if (connect_error) co_return failed("connecting to it", connect_error, limits_.connect);
  const std::string head = fmt::format(
      "POST {} HTTP/1.1\r\nHost: engine\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: "
      "close\r\n\r\n",
      path, body.size());
  const std::array<rt::asio::const_buffer, 2> buffers = {rt::asio::buffer(head), rt::asio::buffer(body)};
  stream_.expires_after(limits_.take);
  const auto [write_error, written] = co_await rt::asio::async_write(stream_, buffers, rt::kTuple);
  if (write_error) co_return failed("taking the request", write_error, limits_.take);
  co_return base::Status{};
}

rt::Task<base::Status> EngineStream::read_head() {
  parser_.body_limit(boost::none);
  stream_.expires_after(limits_.answer);
  const auto [error, read] = co_await bhttp::async_read_header(stream_, buffer_, parser_, rt::kTuple);
  if (error) co_return failed("beginning its answer", error, limits_.answer);
  stream_.expires_never();
  parser_.eager(true);
  watchdog_.emplace(stream_.get_executor(), limits_.answer, [this] {
    silent_ = true;
    stream_.socket().cancel();
  });
  co_return base::Status{};
}

std::string EngineStream::content_type() const { return std::string(parser_.get()[bhttp::field::content_type]); }

base::Status EngineStream::parse(std::string& into) {
  while (buffer_.size() > 0 && !parser_.is_done()) {
    auto& body = parser_.get().body();
    body.data = chunk_.data();
    body.size = chunk_.size();
    rt::error_code error;
    buffer_.consume(parser_.put(buffer_.data(), error));
    into.append(chunk_.data(), chunk_.size() - body.size);
    if (error == bhttp::error::need_more) break;
    if (error && error != bhttp::error::need_buffer) return failed("answering", error, limits_.answer);
  }
  return {};
}

// Past the stream's own deadlines and the parser's own reading: one call a piece, and no timer.
rt::Task<base::Status> EngineStream::read(std::string& into) {
  into.clear();
  for (;;) {
    if (auto parsed = parse(into); !parsed) co_return parsed;
    if (!into.empty() || parser_.is_done()) co_return base::Status{};
    if (buffer_.size() + chunk_.size() > kLargestBuffer)
      co_return failed("answering", bhttp::error::bad_chunk, limits_.answer);
    auto [error, count] = co_await stream_.socket().async_read_some(buffer_.prepare(chunk_.size()), rt::kTuple);
    buffer_.commit(count);
    watchdog_->touch();
    if (error == rt::asio::error::eof) {  // the end of a body of no declared length, or a broken answer
      error = {};
      parser_.put_eof(error);
      if (!error) co_return base::Status{};
    }
    if (silent_) error = beast::error::timeout;
    if (error) co_return failed("answering", error, limits_.answer);
  }
}

rt::Task<base::Result<std::string>> EngineStream::read_all(std::size_t most) {
  std::string all;
  std::string piece;
  do {
    if (auto read_piece = co_await read(piece); !read_piece) co_return base::pass(read_piece);
    all += piece;
    if (all.size() > most)
      co_return base::fail(ErrorCode::too_large, "the engine's answer is larger than any that is expected");
  } while (!piece.empty());
  co_return all;
}

}  // namespace hearth::http
