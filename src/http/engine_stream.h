#pragma once
// One HTTP exchange with an engine over its Unix socket: send a request, read the answer's head, then its body as it
// comes.
//
// Thread: the I/O thread. A new connection for each request: closing it is how a request is cancelled in the engine,
// and nobody else's request is on it. Destroying the object closes it.
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "rt/asio.h"
#include "rt/watchdog.h"

namespace hearth::http {

class EngineStream {
 public:
  // How long the engine may take nothing, and say nothing.
  struct Limits {
    std::chrono::milliseconds connect{10'000};
    std::chrono::milliseconds take{60'000};
    std::chrono::milliseconds answer{900'000};  // a long prompt on a small machine is minutes between two signs of life
  };

  explicit EngineStream(const rt::asio::any_io_executor& executor) : EngineStream(executor, Limits()) {}
  EngineStream(const rt::asio::any_io_executor& executor, Limits limits) : limits_(limits), stream_(executor) {}

  // Connects, sends and reads the head of the answer. `on_sent` is called when the whole request is written.
  // Errors: engine_failed (it closed, does not listen, or was silent).
  template <typename F>
  [[nodiscard]] rt::Task<base::Status> ask(const std::string& socket_path, std::string_view path, std::string_view body,
                                           F on_sent) {
    if (auto sent = co_await send(socket_path, path, body); !sent) co_return sent;
    on_sent();
    co_return co_await read_head();
  }

  [[nodiscard]] unsigned status() const { return parser_.get().result_int(); }
  [[nodiscard]] std::string content_type() const;

  // The last failure was that it took or said nothing for too long: its process may well be alive.
  [[nodiscard]] bool silent() const { return silent_; }

  // The next bytes of the body in `into`; empty at its end. Errors: engine_failed (cut off, or silent).
  [[nodiscard]] rt::Task<base::Status> read(std::string& into);
  // The rest of the body, at most `most` bytes. Errors: as read, too_large.
  [[nodiscard]] rt::Task<base::Result<std::string>> read_all(std::size_t most);

 private:
  using Protocol = boost::asio::local::stream_protocol;
  static constexpr std::size_t kLargestBuffer = 256U << 10;
  [[nodiscard]] rt::Task<base::Status> send(const std::string& socket_path, std::string_view path,
                                            std::string_view body);
  [[nodiscard]] rt::Task<base::Status> read_head();
  // Hands what has come to the parser; what that yields of the body is appended.
  [[nodiscard]] base::Status parse(std::string& into);
  [[nodiscard]] std::unexpected<base::Error> failed(std::string_view what, const rt::error_code& error,
                                                    std::chrono::milliseconds limit);

  Limits limits_;
  boost::beast::basic_stream<Protocol> stream_;
  std::optional<rt::Watchdog> watchdog_;  // while the body is read
  bool silent_ = false;
  boost::beast::flat_buffer buffer_{kLargestBuffer};
  boost::beast::http::response_parser<boost::beast::http::buffer_body> parser_;
  std::array<char, 16384> chunk_{};
};

}  // namespace hearth::http
