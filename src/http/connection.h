#pragma once
// One client connection: reads requests one after the other and hands each to its handler.
//
// Thread: the I/O thread. Owned by its own coroutine in the Server's TaskGroup. Ends when the client closes, when a
// limit or deadline is passed (with an answer where one can still be sent), when the server is stopping and no request
// is in flight, or when cancelled.
#include <functional>
#include <optional>
#include <string>

#include "http/exchange.h"
#include "http/guard.h"
#include "http/router.h"

namespace hearth::http {

// What all connections share; constant while the server runs.
struct ConnectionContext {
  const Router& router;
  const Limits& limits;
  const AccessRules& rules;
  const base::Clock& clock;
  std::function<std::string()> new_id;
};

class Connection {
 public:
  Connection(tcp::socket socket, const ConnectionContext& context);

  [[nodiscard]] rt::Task<void> run();
  // Closes at once when no request is in flight, else after the current one.
  void finish_soon();

 private:
  enum class Next { again, close };
  [[nodiscard]] rt::Task<Next> serve_one();
  [[nodiscard]] rt::Task<bool> wait_for_request();
  [[nodiscard]] rt::Task<rt::error_code> read_head(Exchange::Parser& parser);
  [[nodiscard]] std::optional<Reply> reply_without_handler(const Exchange& exchange, const Router::Match& match) const;
  [[nodiscard]] rt::Task<void> dispatch(Exchange& exchange);
  [[nodiscard]] rt::Task<void> refuse_head(Exchange& exchange, rt::error_code error);
  [[nodiscard]] rt::Task<void> linger();

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  const ConnectionContext& context_;
  bool in_request_ = false;
  bool finishing_ = false;
};

}  // namespace hearth::http
