#include "http/server.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/scope_exit.h"
#include "rt/crash_log.h"
#include "rt/deadline.h"

namespace hearth::http {
namespace {

using base::ErrorCode;

base::Status listen_error(const std::string& host, std::uint16_t port, const rt::error_code& error) {
  auto failure = base::error_from_errno(fmt::format("listening on {}:{}", host, port), error.value());
  if (failure.code == ErrorCode::in_use) {
    failure.message = fmt::format(
        "port {} on {} is in use by another program; stop it or choose another with --listen HOST:PORT", port, host);
  }
  return std::unexpected(std::move(failure));
}

}  // namespace

Server::Server(rt::asio::any_io_executor executor, const Router& router, Limits limits, AccessRules rules,
               const base::Clock& clock, std::function<std::string()> new_id)
    : executor_(executor),
      limits_(limits),
      rules_(std::move(rules)),
      context_{router, limits_, rules_, clock, std::move(new_id)},
      acceptor_(executor),
      tasks_(executor, rt::log_crash_of("a connection")) {}

base::Status Server::bind(const std::string& host, std::uint16_t port) {
  rt::error_code error;
  const auto address = rt::asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (error)
    return base::fail(
        ErrorCode::bad_request,
        fmt::format("\"{}\" is not an IP address; listen on 127.0.0.1 or another address of this machine", host));
  const tcp::endpoint endpoint(address, port);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(rt::asio::socket_base::max_listen_connections, error);
  if (error) return listen_error(host, port, error);
  return {};
}

std::uint16_t Server::port() const { return acceptor_.local_endpoint().port(); }

rt::Task<void> Server::accept() {
  for (;;) {
    auto [error, socket] = co_await acceptor_.async_accept(rt::kTuple);
    if (error == rt::asio::error::operation_aborted || !acceptor_.is_open()) co_return;
    if (error) {
      // Out of descriptors or memory: shedding load for a moment beats spinning.
      spdlog::warn("accepting a connection failed ({}); pausing", error.message());
      if (!co_await rt::pause(std::chrono::milliseconds(200))) co_return;
      continue;
    }
    if (open_.size() >= limits_.connections) {
      spdlog::warn("refusing a connection: {} are open, the most allowed", open_.size());
      continue;
    }
    tasks_.spawn(serve_connection(std::move(socket)));
  }
}

rt::Task<void> Server::serve_connection(tcp::socket socket) {
  Connection connection(std::move(socket), context_);
  open_.insert(&connection);
  const base::ScopeExit forget([&] { open_.erase(&connection); });
  co_await connection.run();
}

rt::Task<void> Server::stop(base::Duration grace) {
  rt::error_code ignored;  // closing a listening socket does not fail in a way that matters
  acceptor_.close(ignored);
  for (Connection* connection : open_)
    connection->finish_soon();
  if (co_await tasks_.join(grace)) co_return;
  spdlog::info("cutting {} connections that did not finish in time", open_.size());
  tasks_.cancel_all();
  const bool ended = co_await tasks_.join(std::chrono::seconds(5));
  if (!ended) spdlog::error("{} connections did not end when cancelled", tasks_.size());
}

}  // namespace hearth::http
