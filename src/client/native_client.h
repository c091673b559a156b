#pragma once
// Hearth's own client of the native API (and of the OpenAI dialect's streams), for the command line.
//
// Synchronous: a call returns when its answer is complete. One thread at a time. Every call is a connection of its own,
// and every wait but that for work has its own deadline (Timeouts); what a server may send is bounded (kLargestJson,
// kLargestEvent).
//
// Errors, beside those that a server reports with a code of its own: io with the mend when no server answers; timeout;
// io when the connection ends before the answer does; too_large; internal when the answer is not what a Hearth server
// sends.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/connection.h"
#include "client/endpoint.h"
#include "client/sse_reader.h"
#include "domain/json.h"

namespace hearth::client {

inline constexpr std::size_t kLargestJson = 64'000'000;
inline constexpr std::size_t kLargestEvent = 1'000'000;

struct Timeouts {
  std::chrono::milliseconds connect{5'000};
  std::chrono::milliseconds answer{60'000};  // for a plain question
  std::chrono::milliseconds idle{600'000};   // on uploads and streams, between any two signs of life
};

struct ClientOptions {
  Endpoint endpoint;
  std::optional<std::string> api_key;  // sent as a bearer token
  Timeouts timeouts;
  std::size_t largest_json = kLargestJson;
  std::function<void()> while_waiting;  // called about five times a second during waits
};

// HEARTH_URL (else kDefaultUrl) and HEARTH_API_KEY. Errors: bad_request naming the variable.
using Environment = std::function<std::optional<std::string>(const char* name)>;
[[nodiscard]] base::Result<ClientOptions> options_from(const Environment& environment);

struct Answer {
  int status = 0;
  domain::Json body;  // null when there was none
};

struct StreamEnd {
  std::string request_id;  // "" when the server gave none that could be one
  bool stopped = false;    // the sink stopped it
};

class NativeClient {
 public:
  explicit NativeClient(ClientOptions options) : options_(std::move(options)) {}

  // `target` begins with '/' and is fit for a request line: ids in it have gone through path_segment.
  [[nodiscard]] base::Result<Answer> get(std::string_view target) const;
  [[nodiscard]] base::Result<Answer> remove(std::string_view target) const;
  // Waits for the answer as long as the connection lives: what is asked for may take its time, as reading every byte of
  // a model does.
  [[nodiscard]] base::Result<Answer> post(std::string_view target, const domain::Json& body) const;
  // Sends the bytes of a regular file, and stops as soon as the server refuses them. Errors besides: those of opening
  // and reading; io when the file gets shorter meanwhile.
  using UploadProgress = std::function<void(std::uint64_t sent, std::uint64_t total)>;
  [[nodiscard]] base::Result<Answer> put_file(std::string_view target, const std::filesystem::path& file,
                                              const UploadProgress& progress) const;
  // Reads the events as they come, until the server ends the stream or the sink returns false (the connection is then
  // closed, by which the server knows that the answer is no longer wanted).
  [[nodiscard]] base::Result<StreamEnd> post_stream(std::string_view target, const domain::Json& body,
                                                    const SseReader::Sink& sink) const;

  [[nodiscard]] const Endpoint& endpoint() const { return options_.endpoint; }
  void set_while_waiting(std::function<void()> action) { options_.while_waiting = std::move(action); }

 private:
  [[nodiscard]] base::Result<Answer> ask(http::verb verb, std::string_view target,
                                         std::optional<std::chrono::milliseconds> patience,
                                         std::string body = {}) const;
  [[nodiscard]] base::Status open(Connection& connection) const;
  template <typename Request>
  void fill(Request& request) const;
  [[nodiscard]] base::Error refusal(const Connection::Head& head, std::string_view body) const;
  [[nodiscard]] base::Result<Answer> read_answer(Connection& connection) const;
  [[nodiscard]] base::Status read_stream(Connection& connection, const SseReader::Sink& sink, StreamEnd& end) const;

  ClientOptions options_;
};

}  // namespace hearth::client
