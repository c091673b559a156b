#include "client/scripted_server.h"

#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "base/text.h"

namespace hearth::client {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

ScriptedServer::Request plain(const http::request<http::string_body>& request) {
  ScriptedServer::Request copy{std::string(request.method_string()), std::string(request.target()), {}, request.body()};
  for (const auto& field : request)
    copy.headers[base::to_lower(field.name_string())] = field.value();
  return copy;
}

void write_reply(tcp::socket& socket, const ScriptedServer::Reply& reply) {
  error_code ignored;  // the client may be gone, which is its right
  if (!reply.raw.empty()) {
    asio::write(socket, asio::buffer(reply.raw), ignored);
    return;
  }
  http::response<http::string_body> response(static_cast<http::status>(reply.status), 11, reply.body);
  response.set(http::field::content_type, reply.content_type);
  for (const auto& [name, value] : reply.headers)
    response.set(name, value);
  response.keep_alive(false);
  response.prepare_payload();
  http::write(socket, response, ignored);
}

// Until the client has closed its side: closing with unread bytes would reset the connection under the answer.
void drain(tcp::socket& socket) {
  error_code error;
  char rest[65536];
  while (!error)
    socket.read_some(asio::buffer(rest), error);
}

}  // namespace

ScriptedServer::ScriptedServer(Script script, When when) : script_(std::move(script)), when_(when) {
  const tcp::endpoint any(asio::ip::address_v4::loopback(), 0);
  acceptor_.open(any.protocol());
  acceptor_.bind(any);
  acceptor_.listen();
  port_ = acceptor_.local_endpoint().port();
  accept_next();
  thread_ = std::thread([this] { io_.run(); });
}

ScriptedServer::~ScriptedServer() {
  io_.stop();
  thread_.join();
}

std::string ScriptedServer::url() const { return "http://127.0.0.1:" + std::to_string(port_); }

std::vector<ScriptedServer::Request> ScriptedServer::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void ScriptedServer::accept_next() {
  acceptor_.async_accept(socket_, [this](const error_code& error) {
    if (error) return;
    serve();
    error_code ignored;
    socket_.close(ignored);
    accept_next();
  });
}

void ScriptedServer::serve() {
  boost::beast::flat_buffer buffer;
  http::request_parser<http::string_body> parser;
  parser.body_limit(1'000'000'000);
  error_code error;
  http::read_header(socket_, buffer, parser, error);
  if (error) return;
  if (when_ == When::after_body) http::read(socket_, buffer, parser, error);
  const Request request = plain(parser.get());
  {
    const std::lock_guard lock(mutex_);
    seen_.push_back(request);
  }
  const Reply reply = script_(request);
  if (!error && !reply.silent) {
    write_reply(socket_, reply);
    socket_.shutdown(tcp::socket::shutdown_send, error);
  }
  if (reply.raw.empty()) drain(socket_);
}

ScriptedServer::Reply event_stream(const std::vector<std::string>& data, const std::string& request_id) {
  ScriptedServer::Reply reply;
  for (const auto& event : data)
    reply.body += "data: " + event + "\n\n";
  reply.content_type = "text/event-stream";
  if (!request_id.empty()) reply.headers.emplace_back("x-hearth-request-id", request_id);
  return reply;
}

}  // namespace hearth::client
