#pragma once
// For tests: an HTTP server in this process that answers from a script, on a free loopback port, in a thread of its
// own. It serves one connection after another; whoever owns it ends the clients first.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hearth::client {

class ScriptedServer {
 public:
  struct Request {
    std::string method;
    std::string target;
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
  };
  struct Reply {
    int status = 200;
    std::string body;
    std::string content_type = "application/json";
    std::vector<std::pair<std::string, std::string>> headers;
    // In place of all that: these bytes as they are, then the end of the connection.
    std::string raw;
    // Never answers; waits until the client goes.
    bool silent = false;
  };
  using Script = std::function<Reply(const Request&)>;
  // Whether the reply is given, and sent, before the request's body is read.
  enum class When { after_body, after_head };

  explicit ScriptedServer(Script script, When when = When::after_body);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] std::string url() const;
  // Every request so far, in order.
  [[nodiscard]] std::vector<Request> seen() const;

 private:
  void accept_next();
  void serve();

  Script script_;
  When when_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_{io_};
  boost::asio::ip::tcp::socket socket_{io_};
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<Request> seen_;
  std::thread thread_;
};

// {"data: …\n\n"} for each, chunk by chunk, as a stream with the given request id.
[[nodiscard]] ScriptedServer::Reply event_stream(const std::vector<std::string>& data,
                                                 const std::string& request_id = "");

}  // namespace hearth::client
