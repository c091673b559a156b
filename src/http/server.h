#pragma once
// The listener: accepts connections and owns them.
//
// Thread: the I/O thread. bind() takes the port, serve() begins to accept; stop() is the graceful end: it stops
// accepting, closes idle connections, lets the rest finish for `grace`, then cancels them and waits. Once it serves it
// must be stopped before it is destroyed.
#include <memory>
#include <set>
#include <string>

#include "http/connection.h"
#include "rt/task_group.h"

namespace hearth::http {

class Server {
 public:
  Server(rt::asio::any_io_executor executor, const Router& router, Limits limits, AccessRules rules,
         const base::Clock& clock, std::function<std::string()> new_id);

  // Errors: in_use ("… use --listen HOST:PORT"), permission, bad_request (not an address).
  [[nodiscard]] base::Status bind(const std::string& host, std::uint16_t port);
  // REQUIRES: bound. The router must be complete.
  void serve() { tasks_.spawn(accept()); }
  // The bound port (of use after port 0). REQUIRES: bound.
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] rt::Task<void> stop(base::Duration grace);
  // Ends a stop() that is under way: cancels what still runs.
  void cut() { tasks_.cancel_all(); }

 private:
  [[nodiscard]] rt::Task<void> accept();
  [[nodiscard]] rt::Task<void> serve_connection(tcp::socket socket);

  rt::asio::any_io_executor executor_;
  Limits limits_;
  AccessRules rules_;
  ConnectionContext context_;
  tcp::acceptor acceptor_;
  std::set<Connection*> open_;
  rt::TaskGroup tasks_;
};

}  // namespace hearth::http
