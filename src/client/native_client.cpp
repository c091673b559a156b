#include "client/native_client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "base/fd.h"
#include "client/answer_error.h"
#include "domain/json_text.h"

namespace hearth::client {
namespace {

using base::ErrorCode;

constexpr std::size_t kChunk = 1 << 20;
constexpr int kDeepestJson = 200;  // writing JSON out again takes stack by its depth

bool is_key(std::string_view key) {
  return std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_request_id(std::string_view id) { return !id.empty() && id.size() <= 128 && path_segment(id) == id; }

bool is_shallow(std::string_view json) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text && c == '\\') ++i;
    if (c == '"') in_text = !in_text;
    if (in_text) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepestJson) return false;
  }
  return true;
}

base::Result<std::string> read_body(Connection& connection, std::size_t most) {
  std::string body;
  for (;;) {
    auto piece = connection.next();
    if (!piece) return base::pass(piece);
    if (!*piece) return body;
    if (body.size() + (*piece)->size() > most) {
      return base::fail(ErrorCode::too_large, fmt::format("the server sent more than {}", base::format_bytes(most)));
    }
    body += **piece;
  }
}

struct OpenFile {
  base::Fd fd;
  std::uint64_t size = 0;
};

base::Result<OpenFile> open_file(const std::filesystem::path& file) {
  // Non-blocking, or opening a pipe would wait for its other end.
  base::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return base::fail_errno("opening " + file.string(), errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return base::fail_errno("opening " + file.string(), errno);
  if (!S_ISREG(status.st_mode)) return base::fail(ErrorCode::bad_request, file.string() + " is not a regular file");
  return OpenFile{std::move(fd), static_cast<std::uint64_t>(status.st_size)};
}

// Sends the whole file, or as much as the server wants. A broken connection is not an error yet: the server may have
// said why before it hung up.
base::Status send_file(Connection& connection, const OpenFile& file, const NativeClient::UploadProgress& progress) {
  std::vector<char> chunk(kChunk);
  for (std::uint64_t sent = 0; sent < file.size && !connection.answer_began();) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(chunk.size(), file.size - sent));
    const auto got = ::read(file.fd.get(), chunk.data(), wanted);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno("reading the file", errno);
    if (got == 0)
      return base::fail(ErrorCode::io,
                        "the file became shorter while it was read; try again when nothing writes to it");
    if (!connection.send_some(std::string_view(chunk.data(), static_cast<std::size_t>(got)))) return {};
    sent += static_cast<std::uint64_t>(got);
    if (progress) progress(sent, file.size);
  }
  return {};
}

}  // namespace

base::Result<ClientOptions> options_from(const Environment& environment) {
  auto endpoint = parse_endpoint(environment("HEARTH_URL").value_or(std::string(kDefaultUrl)));
  if (!endpoint) return base::pass(endpoint);
  auto key = environment("HEARTH_API_KEY");
  if (key && !is_key(*key)) {
    return base::fail(ErrorCode::bad_request,
                      "HEARTH_API_KEY holds spaces or other characters that cannot travel in a header");
  }
  return ClientOptions{*std::move(endpoint), std::move(key), {}, kLargestJson, {}};
}

base::Status NativeClient::open(Connection& connection) const {
  if (auto connected = connection.connect(options_.endpoint); !connected) {
    return base::fail(
        connected.error().code,
        fmt::format("no Hearth server answers at {}; start one with `hearth serve` or set HEARTH_URL ({})",
                    options_.endpoint.url, connected.error().message));
  }
  return {};
}

template <typename Request>
void NativeClient::fill(Request& request) const {
  const auto& endpoint = options_.endpoint;
  const bool v6 = endpoint.host.contains(':');
  request.set(http::field::host, fmt::format("{}{}{}:{}", v6 ? "[" : "", endpoint.host, v6 ? "]" : "", endpoint.port));
  request.set(http::field::user_agent, "hearth");
  request.set(http::field::accept, "application/json, text/event-stream");
  request.keep_alive(false);
  if (options_.api_key) request.set(http::field::authorization, "Bearer " + *options_.api_key);
}

base::Error NativeClient::refusal(const Connection::Head& head, std::string_view body) const {
  auto error = error_from_answer(head.status, body, head.retry_after);
  if (error.code == ErrorCode::unauthorized) {
    error.message +=
        options_.api_key ? "; HEARTH_API_KEY is not a key of this server" : "; set HEARTH_API_KEY to the server's key";
  }
  const bool not_ours = head.status == 404 && head.request_id.empty() && !body.contains("\"error\"");
  if (not_ours) error.message += fmt::format("; is the server at {} a Hearth server?", options_.endpoint.url);
  return error;
}

base::Result<Answer> NativeClient::read_answer(Connection& connection) const {
  auto head = connection.head();
  if (!head) return base::pass(head, options_.endpoint.url);
  auto body = read_body(connection, options_.largest_json);
  if (!body) return base::pass(body, options_.endpoint.url);
  if (head->status < 200 || head->status > 299) return std::unexpected(refusal(*head, is_shallow(*body) ? *body : ""));
  if (body->empty()) return Answer{head->status, nullptr};
  auto json =
      is_shallow(*body) ? domain::Json::parse(*body, nullptr, false) : domain::Json(domain::Json::value_t::discarded);
  if (!json.is_discarded()) return Answer{head->status, std::move(json)};
  return base::fail(
      ErrorCode::internal,
      fmt::format("{} answered with something that is not JSON; is it a Hearth server?", options_.endpoint.url));
}

base::Result<Answer> NativeClient::ask(http::verb verb, std::string_view target,
                                       std::optional<std::chrono::milliseconds> patience, std::string body) const {
  Connection connection({options_.timeouts.connect, patience.value_or(options_.timeouts.idle), patience},
                        options_.while_waiting);
  if (auto opened = open(connection); !opened) return base::pass(opened);
  http::request<http::string_body> request(verb, options_.endpoint.prefix + std::string(target), 11);
  fill(request);
  if (!body.empty()) {
    request.set(http::field::content_type, "application/json");
    request.body() = std::move(body);
    request.prepare_payload();
  }
  if (auto sent = connection.send(request); !sent) return base::pass(sent, options_.endpoint.url);
  connection.expect_answer();
  return read_answer(connection);
}

base::Result<Answer> NativeClient::get(std::string_view target) const {
  return ask(http::verb::get, target, options_.timeouts.answer);
}
base::Result<Answer> NativeClient::remove(std::string_view target) const {
  return ask(http::verb::delete_, target, options_.timeouts.answer);
}

base::Result<Answer> NativeClient::post(std::string_view target, const domain::Json& body) const {
  return ask(http::verb::post, target, std::nullopt, domain::text_of(body));
}

base::Result<Answer> NativeClient::put_file(std::string_view target, const std::filesystem::path& file,
                                            const UploadProgress& progress) const {
  auto source = open_file(file);
  if (!source) return base::pass(source);
  Connection connection({options_.timeouts.connect, options_.timeouts.idle, options_.timeouts.idle},
                        options_.while_waiting);
  if (auto opened = open(connection); !opened) return base::pass(opened);
  http::request<http::empty_body> request(http::verb::put, options_.endpoint.prefix + std::string(target), 11);
  fill(request);
  request.set(http::field::content_type, "application/octet-stream");
  request.content_length(source->size);
  if (auto sent = connection.send_head(request); !sent) return base::pass(sent, options_.endpoint.url);
  connection.expect_answer();
  if (auto sent = send_file(connection, *source, progress); !sent) return base::pass(sent, file.string());
  return read_answer(connection);
}

base::Status NativeClient::read_stream(Connection& connection, const SseReader::Sink& sink, StreamEnd& end) const {
  auto head = connection.head();
  if (!head) return base::pass(head, options_.endpoint.url);
  if (is_request_id(head->request_id)) end.request_id = head->request_id;
  const bool good = head->status >= 200 && head->status <= 299;
  if (!good || !head->content_type.starts_with("text/event-stream")) {
    auto body = read_body(connection, options_.largest_json);
    if (!body) return base::pass(body, options_.endpoint.url);
    if (!good) return std::unexpected(refusal(*head, is_shallow(*body) ? *body : ""));
    return base::fail(ErrorCode::internal,
                      fmt::format("{} did not answer with a stream; is it a Hearth server?", options_.endpoint.url));
  }
  SseReader reader(kLargestEvent);
  for (;;) {
    auto piece = connection.next();
    if (!piece) return base::pass(piece, options_.endpoint.url);
    if (!*piece) return {};
    auto going_on = reader.feed(**piece, sink);
    if (!going_on) return base::pass(going_on, options_.endpoint.url);
    end.stopped = !*going_on;
    if (end.stopped) return {};
  }
}

base::Result<StreamEnd> NativeClient::post_stream(std::string_view target, const domain::Json& body,
                                                  const SseReader::Sink& sink) const {
  Connection connection({options_.timeouts.connect, options_.timeouts.idle, options_.timeouts.idle},
                        options_.while_waiting);
  if (auto opened = open(connection); !opened) return base::pass(opened);
  http::request<http::string_body> request(http::verb::post, options_.endpoint.prefix + std::string(target), 11);
  fill(request);
  request.set(http::field::content_type, "application/json");
  request.body() = domain::text_of(body);
  request.prepare_payload();
  if (auto sent = connection.send(request); !sent) return base::pass(sent, options_.endpoint.url);
  connection.expect_answer();
  StreamEnd end;
  if (auto read = read_stream(connection, sink, end); !read) return base::pass(read);
  return end;
}

}  // namespace hearth::client
