#pragma once
// One HTTP exchange over one connection, with a deadline for every wait. Private to src/client.
//
// Looks synchronous and is used by one thread: each call runs the connection's own io_context until its operation is
// done, and calls `while_waiting` some five times a second meanwhile. When a wait is over its limit the socket is
// closed and the error is timeout. Reading the answer may begin before the request is sent whole, so that a server that
// refuses an upload is heard at once.
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/endpoint.h"

namespace hearth::client {

namespace http = boost::beast::http;

class Connection {
 public:
  struct Limits {
    std::chrono::milliseconds connect;
    std::chrono::milliseconds idle;  // between any two signs of life
    // For the answer to begin; empty: as long as the connection lives, which the kernel asks the other machine.
    std::optional<std::chrono::milliseconds> answer;
  };
  struct Head {
    int status = 0;
    std::string content_type;
    std::string request_id;  // x-hearth-request-id, "" when there is none
    std::optional<std::string> retry_after;
  };

  Connection(Limits limits, std::function<void()> while_waiting);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Names are looked up by the system's resolver within its own limits.
  [[nodiscard]] base::Status connect(const Endpoint& endpoint);
  [[nodiscard]] base::Status send(const http::request<http::string_body>& request);
  [[nodiscard]] base::Status send_head(const http::request<http::empty_body>& request);
  [[nodiscard]] base::Status send_some(std::string_view bytes);

  // Begins to read the answer's head. Once per connection.
  void expect_answer();
  [[nodiscard]] bool answer_began() const { return reading_.done; }
  [[nodiscard]] base::Result<Head> head();
  // The next piece of the body, valid until the next call; nothing at its end. Errors: io when the connection ends
  // early.
  [[nodiscard]] base::Result<std::optional<std::string_view>> next();

 private:
  // An operation under way. A member, because it must outlive the io_context's handlers.
  struct Pending {
    bool done = true;
    boost::system::error_code error;
  };
  auto completes(Pending& pending);
  [[nodiscard]] base::Status finish(Pending& pending, std::optional<std::chrono::milliseconds> limit,
                                    std::string_view what);
  void step(std::chrono::steady_clock::time_point until);

  Limits limits_;
  std::function<void()> while_waiting_;
  std::chrono::steady_clock::time_point next_tick_;
  Pending reading_;
  Pending writing_;
  std::array<char, 65536> piece_{};
  boost::beast::flat_buffer buffer_{1 << 20};
  std::optional<http::response_parser<http::buffer_body>> parser_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
};

}  // namespace hearth::client
