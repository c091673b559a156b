#pragma once
// The fake engine's life and its HTTP side. One thread.
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <map>
#include <string>
#include <vector>

#include "rt/asio.h"
#include "tests/fake_engine/answer.h"
#include "tests/fake_engine/journal.h"
#include "tests/fake_engine/scenario.h"

namespace hearth::fake_engine {

class Server {
 public:
  Server(Flags flags, Scenario scenario, Journal journal);
  // Until SIGTERM. The exit status.
  int run();

 private:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  enum class Ended { finished, left };
  struct Running {
    int number = 0;
    Question question;
    Timings timings;
  };

  bool listen();
  template <typename Acceptor>
  rt::Task<void> accept(Acceptor acceptor);
  rt::Task<void> load();
  void claim_memory();
  void await_term();

  rt::Task<void> session(Socket socket);
  // False: the connection is over.
  rt::Task<bool> answer(Socket& socket, const Request& request);
  rt::Task<bool> generate(Socket& socket, const Request& request, Kind kind);
  rt::Task<Ended> stream(Socket& socket, Running& running);
  rt::Task<Ended> reply(Socket& socket, Running& running, bool keep_alive);
  rt::Task<bool> prefill(Socket& socket, Running& running);
  Running begin(Kind kind, const Json& body, const Request& request);
  void note_end(const Running& running, Ended ended) const;
  void find_cached(Running& running);
  rt::Task<bool> take_slot(Socket& socket);
  rt::Task<bool> send(Socket& socket, int status, const Json& body, bool keep_alive);
  rt::Task<bool> send_event(Socket& socket, const std::string& data);
  // The answer of everything that generates nothing.
  std::optional<Json> plain_answer(boost::beast::http::verb method, const std::string& path,
                                   const std::string& text) const;
  Json describe_models() const;
  Json tokenize(const Json& body) const;
  Json embed(const Json& body) const;

  // Crashes or stalls when the scenario says so of this point.
  rt::Task<void> pass(const char* where, int token = 0);
  [[noreturn]] void crash();

  Flags flags_;
  Scenario scenario_;
  Journal journal_;
  boost::asio::io_context io_;
  bool ready_ = false;
  bool may_crash_ = true;
  int busy_slots_ = 0;
  int last_number_ = 0;
  std::map<int, Socket*> sockets_;  // of the requests that run, by number
  std::vector<std::string> last_prompt_;
  std::vector<char> claimed_;
};

}  // namespace hearth::fake_engine
