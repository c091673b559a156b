#include "bench/stream_client.h"

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace hearth::bench {
namespace {

namespace asio = boost::asio;
namespace bhttp = boost::beast::http;
using Endpoint = asio::generic::stream_protocol::endpoint;
using Socket = asio::generic::stream_protocol::socket;

std::string request_text(const std::string& model, const std::string& unique, int tokens) {
  const nlohmann::json body = {
      {"model", model},
      {"stream", true},
      {"messages", {{{"role", "user"}, {"content", unique + " turn on the kitchen lights and tell me about it"}}}},
      {"max_tokens", tokens},
      {"temperature", 0},
      {"ignore_eos", true}};
  const std::string text = body.dump();
  return fmt::format(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: "
      "close\r\nContent-Length: {}\r\n\r\n{}",
      text.size(), text);
}

// Marks the arrival of texts in a stream of events; cheap, so that the generator does not compete with what it
// measures.
class Arrivals {
 public:
  void feed(std::string_view bytes, base::Mono now) {
    text_ += bytes;
    for (std::size_t end = 0; (end = text_.find("\n\n")) != std::string::npos; text_.erase(0, end + 2)) {
      take(std::string_view(text_).substr(0, end), now);
    }
  }
  [[nodiscard]] Timing timing(base::Mono begun) const {
    if (!first_ || tokens_ == 0) throw std::runtime_error("the answer was no complete stream: " + text_);
    const double seconds = std::chrono::duration<double>(last_ - *first_).count();
    return {.ttft_ms = base::to_ms(*first_ - begun),
            .tokens_per_s = seconds > 0 ? static_cast<double>(tokens_ - 1) / seconds : 0,
            .tokens = tokens_};
  }

 private:
  void take(std::string_view event, base::Mono now) {
    if (event.find("\"content\":\"") != std::string_view::npos) {
      if (!first_) first_ = now;
      last_ = now;
    }
    constexpr std::string_view kCount = "\"predicted_n\":";
    if (const auto at = event.find(kCount); at != std::string_view::npos) {
      std::from_chars(event.data() + at + kCount.size(), event.data() + event.size(), tokens_);
    }
  }

  std::string text_;
  std::optional<base::Mono> first_;
  base::Mono last_;
  std::int64_t tokens_ = 0;
};

rt::Task<void> read_answer(Socket& socket, Arrivals& arrivals) {
  boost::beast::flat_buffer buffer;
  bhttp::response_parser<bhttp::buffer_body> parser;
  parser.body_limit(boost::none);
  co_await bhttp::async_read_header(socket, buffer, parser, asio::use_awaitable);
  std::array<char, 16384> chunk{};
  while (!parser.is_done()) {
    parser.get().body().data = chunk.data();
    parser.get().body().size = chunk.size();
    const auto [error, read] = co_await bhttp::async_read_some(socket, buffer, parser, rt::kTuple);
    arrivals.feed({chunk.data(), chunk.size() - parser.get().body().size}, std::chrono::steady_clock::now());
    if (error && error != bhttp::error::need_buffer) throw std::runtime_error("reading the answer: " + error.message());
  }
}

}  // namespace

Endpoint endpoint_of(const std::string& address) {
  if (address.starts_with("unix:")) return asio::local::stream_protocol::endpoint(address.substr(5));
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) throw std::runtime_error("\"" + address + "\" is neither unix:PATH nor HOST:PORT");
  return asio::ip::tcp::endpoint(asio::ip::make_address(address.substr(0, colon)),
                                 static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
}

rt::Task<Timing> timed_chat(Endpoint endpoint, std::string model, std::string unique, int tokens) {
  const std::string request = request_text(model, unique, tokens);
  const base::Mono begun = std::chrono::steady_clock::now();
  Socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(endpoint, asio::use_awaitable);
  co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
  Arrivals arrivals;
  co_await read_answer(socket, arrivals);
  co_return arrivals.timing(begun);
}

}  // namespace hearth::bench
