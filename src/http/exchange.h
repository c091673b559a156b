#pragma once
// One request and its answer on a client's connection: what a handler reads from and writes to.
//
// Thread: the I/O thread. Owned by the Connection for the time of one request; a handler's coroutine borrows it. Every
// wait has its own deadline (Limits). After a failed or cut write nothing more can be sent; the connection then closes.
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "rt/asio.h"

namespace hearth::http {

namespace beast = boost::beast;
using tcp = boost::asio::ip::tcp;

// Bounds on what a client may make us hold and wait for.
struct Limits {
  base::Bytes body = 100'000'000;                   // of a JSON body; a model upload is bounded by the disk instead
  std::uint32_t head = 16U << 10;                   // request line and headers together
  std::chrono::milliseconds head_wait{15'000};      // from the first byte of a head to its end
  std::chrono::milliseconds idle_wait{75'000};      // between requests of one connection
  std::chrono::milliseconds transfer_wait{60'000};  // for any progress while a body is read or an answer written
  std::size_t connections = 512;
};

using Header = std::pair<std::string, std::string>;

struct Reply {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<Header> headers;
};

// How large the room for a body becomes when it has `size` bytes and all are taken. It grows with what has come, never
// with what a client only declares.
[[nodiscard]] std::size_t grown_room(std::size_t size, std::optional<std::uint64_t> declared);

class Exchange {
 public:
  using Parser = beast::http::request_parser<beast::http::buffer_body>;

  Exchange(beast::tcp_stream& stream, beast::flat_buffer& buffer, Parser& parser, const Limits& limits, std::string id,
           const base::Clock& clock);

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] base::Mono received() const { return received_; }
  [[nodiscard]] base::Wall started_at() const { return started_at_; }
  [[nodiscard]] const Parser::value_type& head() const { return parser_.get(); }
  // The client's address, without its port; empty when the client is gone.
  [[nodiscard]] std::string peer_address() const;
  // The path without query.
  [[nodiscard]] std::string_view path() const;
  // One parameter of the query, undecoded; empty when absent.
  [[nodiscard]] std::string_view query(std::string_view key) const;
  // A named part of the path that the router matched.
  [[nodiscard]] const std::string& part(std::string_view name) const { return parts_.at(std::string(name)); }
  void set_parts(std::map<std::string, std::string> parts) { parts_ = std::move(parts); }
  [[nodiscard]] std::optional<std::uint64_t> content_length() const;
  // The page that asks, as its browser named it, may read the answer. Before any answer.
  void let_page_read() { page_reads_ = true; }

  // The whole body. Errors: too_large (the connection then closes after the answer), timeout, io (the client left).
  [[nodiscard]] rt::Task<base::Result<std::string>> read_body();
  // The next part of the body, at most into.size() bytes; 0 at its end. Ignores Limits::body.
  [[nodiscard]] rt::Task<base::Result<std::size_t>> read_some(std::span<char> into);

  // The whole answer at once.
  [[nodiscard]] rt::Task<base::Status> reply(Reply reply);
  // An answer in pieces: head first, each piece at once, then its end. A client that speaks HTTP/1.0 gets the bare
  // bytes.
  [[nodiscard]] rt::Task<base::Status> begin(unsigned status, std::vector<Header> headers);
  [[nodiscard]] rt::Task<base::Status> write(std::string_view piece);
  [[nodiscard]] rt::Task<base::Status> end();

  // Returns when the client has closed its side. A client that sends more (the next request, early) is not watched any
  // further: returns only when cancelled.
  [[nodiscard]] rt::Task<void> client_left();

  [[nodiscard]] bool answered() const { return answered_; }
  // A write of the answer failed, or was cancelled half-way: there is nobody to tell anything more.
  [[nodiscard]] bool broken() const { return broken_; }
  // The answer is complete, and the connection can take another request.
  [[nodiscard]] bool reusable() const;
  void close_afterwards() { close_ = true; }

 private:
  [[nodiscard]] beast::http::response<beast::http::empty_body> response_head(unsigned status,
                                                                             const std::vector<Header>& headers) const;
  [[nodiscard]] bool keeps_open() const;
  [[nodiscard]] rt::Task<base::Status> send_continue();
  template <typename Buffers>
  rt::Task<base::Status> send(Buffers buffers);
  [[nodiscard]] base::Status sent(const rt::error_code& error);

  beast::tcp_stream& stream_;
  beast::flat_buffer& buffer_;
  Parser& parser_;
  const Limits& limits_;
  std::string id_;
  base::Mono received_;
  base::Wall started_at_;
  std::map<std::string, std::string> parts_;
  bool continue_sent_ = false;
  bool answered_ = false;
  bool finished_ = false;
  bool broken_ = false;
  bool chunked_ = false;
  bool close_ = false;
  bool page_reads_ = false;
};

}  // namespace hearth::http
