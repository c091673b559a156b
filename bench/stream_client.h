#pragma once
// A load generator's client: one streamed chat over TCP or a Unix socket, timed.
#include <boost/asio/generic/stream_protocol.hpp>
#include <optional>
#include <string>

#include "base/clock.h"
#include "rt/asio.h"

namespace hearth::bench {

struct Timing {
  double ttft_ms = 0;       // from before connecting to the first event with text
  double tokens_per_s = 0;  // of the tokens after the first, by arrival here
  std::int64_t tokens = 0;  // as the engine counts them
};

// "unix:/path/x.sock" or "HOST:PORT" (an IP address). Throws std::runtime_error on anything else.
[[nodiscard]] rt::asio::generic::stream_protocol::endpoint endpoint_of(const std::string& address);

// Asks for exactly `tokens` tokens after a prompt that begins with `unique`, so that no prefix is shared between
// requests. Throws std::runtime_error when the answer is not a complete stream.
[[nodiscard]] rt::Task<Timing> timed_chat(rt::asio::generic::stream_protocol::endpoint endpoint, std::string model,
                                          std::string unique, int tokens);

}  // namespace hearth::bench
