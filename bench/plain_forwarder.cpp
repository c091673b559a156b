// The least that anything between a client and the engine costs: takes TCP connections on a free port of loopback, says
// which, and copies bytes to and from the engine's Unix socket, reading nothing of them. Until its input is closed.
//
//   plain_forwarder /path/of/the/engine.sock
#include <fmt/format.h>

#include <array>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/write.hpp>
#include <iostream>
#include <memory>

#include "rt/asio.h"

namespace {

using namespace hearth;
using Tcp = rt::asio::ip::tcp;
using Local = rt::asio::local::stream_protocol;

struct Pair {
  Tcp::socket client;
  Local::socket engine;
};

// Holds the pair while it copies from one of its ends to the other.
template <typename From, typename To>
rt::Task<void> copy(std::shared_ptr<Pair> pair, From Pair::*from_end, To Pair::*to_end) {
  From& from = (*pair).*from_end;
  To& to = (*pair).*to_end;
  std::array<char, 16384> buffer;
  for (;;) {
    const auto [read_error, size] = co_await from.async_read_some(rt::asio::buffer(buffer), rt::kTuple);
    if (read_error) break;
    const auto [write_error, written] = co_await rt::asio::async_write(to, rt::asio::buffer(buffer, size), rt::kTuple);
    if (write_error) break;
  }
  rt::error_code ignored;  // the other side may have gone first
  to.shutdown(rt::asio::socket_base::shutdown_send, ignored);
}

rt::Task<void> forward(Tcp::socket client, std::string engine) {
  auto executor = client.get_executor();
  auto pair = std::make_shared<Pair>(std::move(client), Local::socket(executor));
  co_await pair->engine.async_connect(Local::endpoint(engine), rt::asio::use_awaitable);
  pair->client.set_option(Tcp::no_delay(true));
  rt::asio::co_spawn(executor, copy(pair, &Pair::client, &Pair::engine), rt::asio::detached);
  co_await copy(pair, &Pair::engine, &Pair::client);
}

rt::Task<void> accept(Tcp::acceptor& acceptor, std::string engine) {
  for (;;) {
    auto client = co_await acceptor.async_accept(rt::asio::use_awaitable);
    rt::asio::co_spawn(acceptor.get_executor(), forward(std::move(client), engine), rt::asio::detached);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: plain_forwarder /path/of/the/engine.sock\n";
    return 2;
  }
  rt::asio::io_context io(1);
  Tcp::acceptor acceptor(io, Tcp::endpoint(rt::asio::ip::address_v4::loopback(), 0));
  fmt::print("127.0.0.1:{}\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  rt::asio::co_spawn(io, accept(acceptor, argv[1]), rt::asio::detached);
  rt::asio::posix::stream_descriptor input(io, 0);
  std::array<char, 1> end;
  input.async_read_some(rt::asio::buffer(end), [&io](const rt::error_code&, std::size_t) { io.stop(); });
  io.run();
  return 0;
}
