#pragma once
// A server on a real socket of loopback (port 0) before a scripted engine, for tests.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>

#include "http/relay.h"
#include "http/respond.h"
#include "http/server.h"
#include "rt/deadline.h"

namespace hearth::http {

namespace asio = boost::asio;
using Unix = asio::local::stream_protocol;

// An engine that answers every connection with the pieces of its script, and tells when its peer has gone.
class ScriptedEngine {
 public:
  explicit ScriptedEngine(asio::io_context& io)
      : path_(std::filesystem::temp_directory_path() / fmt::format("hearth-http-{}-{}.sock", ::getpid(), ++made_)),
        acceptor_(io, Unix::endpoint(path_)) {}
  ~ScriptedEngine() { std::filesystem::remove(path_); }

  rt::Task<void> serve() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(rt::kTuple);
      if (error) co_return;
      co_await answer(std::move(socket));
    }
  }
  void close() { acceptor_.close(); }

  std::vector<std::string> script;  // written one after the other
  bool stay_silent_at_end = false;  // after the script: keep the connection open until the peer goes
  std::string request;              // what the last peer sent
  bool peer_left = false;
  [[nodiscard]] std::string path() const { return path_; }

 private:
  rt::Task<void> answer(Unix::socket socket) {
    request.resize(65536);
    const auto [error, read] = co_await socket.async_read_some(asio::buffer(request), rt::kTuple);
    request.resize(read);
    for (const auto& piece : script)
      co_await asio::async_write(socket, asio::buffer(piece), rt::kTuple);
    char byte = 0;
    if (stay_silent_at_end) {
      const auto [gone, none] = co_await socket.async_read_some(asio::buffer(&byte, 1), rt::kTuple);
      peer_left = static_cast<bool>(gone);
    }
  }

  static inline int made_ = 0;
  std::filesystem::path path_;
  Unix::acceptor acceptor_;
};

struct ScriptedLease final : EngineLease {
  explicit ScriptedLease(std::string at) : path(std::move(at)) {}
  [[nodiscard]] const std::string& socket_path() const override { return path; }
  [[nodiscard]] std::optional<std::uint64_t> context() const override { return 2048; }
  void describe(domain::RequestObservation&) const override {}
  void note_sent() override {}
  void conclude(domain::RequestObservation& seen, bool answered) override {
    seen.process = domain::ProcessDelta{answered ? 1U : 2U, 0};
  }
  [[nodiscard]] rt::Task<base::Error> why_gone() override {
    co_return base::Error{base::ErrorCode::engine_failed, "the engine was killed by signal 9: last words"};
  }
  std::string path;
};

struct ScriptedGate final : EngineGate {
  [[nodiscard]] rt::Task<base::Result<std::unique_ptr<EngineLease>>> acquire(domain::ModelId,
                                                                             domain::Asker asker) override {
    last_asker = std::move(asker);
    if (failure) co_return std::unexpected(*failure);
    co_return std::make_unique<ScriptedLease>(path);
  }
  [[nodiscard]] rt::Task<base::Status> unload(domain::ModelId, domain::Asker) override { co_return base::Status{}; }
  std::string path;
  domain::Asker last_asker;
  std::optional<base::Error> failure;
};

struct RecordingJournal final : RequestJournal {
  [[nodiscard]] std::string new_id() override { return fmt::format("id{}", ++ids); }
  [[nodiscard]] std::string header_timing(const domain::RequestObservation&) override { return "queue;dur=1"; }
  void record(domain::RequestObservation observation) override { seen.push_back(std::move(observation)); }
  [[nodiscard]] std::optional<domain::RequestRecord> find(std::string_view) override { return std::nullopt; }
  [[nodiscard]] std::vector<domain::RequestRecord> last(std::size_t) override { return {}; }
  [[nodiscard]] std::vector<domain::Event> events_since(std::uint64_t) override { return {}; }
  void tell(domain::Event) override {}
  int ids = 0;
  std::vector<domain::RequestObservation> seen;
};

// Has nothing and does nothing.
struct EmptyShelf : ModelShelf {
  template <typename T>
  static base::Result<T> nothing() {
    return base::fail(base::ErrorCode::unsupported, "this shelf is empty");
  }
  rt::Task<base::Result<std::vector<domain::ModelView>>> list() override {
    co_return nothing<std::vector<domain::ModelView>>();
  }
  rt::Task<base::Result<domain::ModelView>> find(domain::ModelId) override { co_return nothing<domain::ModelView>(); }
  rt::Task<base::Result<domain::ModelCard>> card(domain::ModelId) override { co_return nothing<domain::ModelCard>(); }
  rt::Task<base::Status> remove(domain::ModelId) override { co_return nothing<void>(); }
  rt::Task<base::Result<domain::LayerWork>> change(domain::ModelId, domain::LayerAction, std::optional<domain::Layer>,
                                                   domain::Asker) override {
    co_return nothing<domain::LayerWork>();
  }
  rt::Task<base::Result<domain::Verification>> verify(domain::ModelId) override {
    co_return nothing<domain::Verification>();
  }
  rt::Task<base::Result<domain::LoadPlan>> plan(domain::ModelId, domain::Asker) override {
    co_return nothing<domain::LoadPlan>();
  }
  rt::Task<base::Result<std::unique_ptr<ModelUpload>>> upload(domain::ModelId, std::uint64_t) override {
    co_return nothing<std::unique_ptr<ModelUpload>>();
  }
};

class ServerTest : public testing::Test {
 protected:
  ServerTest() { gate.path = engine.path(); }

  void add_routes() {
    for (const Endpoint endpoint : {Endpoint::chat, Endpoint::completions, Endpoint::embeddings}) {
      router.add(beast::http::verb::post, path_of(endpoint),
                 [this, endpoint](Exchange& exchange) { return relay.serve(endpoint, exchange); });
    }
    router.add(beast::http::verb::get, "/hello",
               [](Exchange& exchange) { return respond_json(exchange, 200, domain::Json("hi")); });
  }

  // Runs a client's coroutine against the server, then stops everything.
  template <typename T>
  T run(rt::Task<T> client) {
    add_routes();
    server.emplace(io.get_executor(), router, limits, AccessRules{}, clock, [this] { return journal.new_id(); });
    EXPECT_TRUE(server->bind("127.0.0.1", 0));
    server->serve();
    asio::co_spawn(io, engine.serve(), asio::detached);
    std::optional<T> result;
    asio::co_spawn(io, bounded(std::move(client)), [&](std::exception_ptr failure, std::optional<T> value) {
      if (failure) std::rethrow_exception(failure);
      EXPECT_TRUE(value) << "the client did not finish in time";
      result = std::move(value);
      engine.close();
    });
    io.run();
    return result ? std::move(*result) : T{};
  }

  template <typename T>
  rt::Task<std::optional<T>> bounded(rt::Task<T> client) {
    auto value = co_await rt::within(std::chrono::seconds(20), std::move(client));
    co_await server->stop(std::chrono::seconds(5));
    co_return value;
  }

  rt::Task<tcp::socket> connect() {
    tcp::socket socket(io);
    co_await socket.async_connect(tcp::endpoint(asio::ip::make_address("127.0.0.1"), server->port()),
                                  asio::use_awaitable);
    co_return socket;
  }

  // Sends and reads until the server closes.
  rt::Task<std::string> talk(std::string request) {
    tcp::socket socket = co_await connect();
    co_await asio::async_write(socket, asio::buffer(request), rt::kTuple);
    std::string answer;
    co_await asio::async_read(socket, asio::dynamic_buffer(answer), rt::kTuple);
    co_return answer;
  }

  static std::string post(std::string_view path, std::string_view body, std::string_view more = "") {
    return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}Content-Length: {}\r\n\r\n{}",
                       path, more, body.size(), body);
  }
  static std::string chunk(std::string_view text) { return fmt::format("{:x}\r\n{}\r\n", text.size(), text); }
  static constexpr std::string_view kStreamHead =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

  asio::io_context io;
  base::SystemClock clock;
  Limits limits;
  Router router;
  ScriptedGate gate;
  RecordingJournal journal;
  Relay relay{gate, journal, clock};
  ScriptedEngine engine{io};
  std::optional<Server> server;
};

inline const std::string kChat = R"({"model":"m","stream":true,"messages":[]})";
inline const std::string kWhole = R"({"model":"m","messages":[]})";
inline const std::string kToken = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";
inline const std::string kProgress = "data: {\"choices\":[],\"prompt_progress\":{\"total\":1}}\n\n";
inline const std::string kEnd =
    "data: "
    "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"timings\":{\"prompt_n\":2,\"predicted_n\":"
    "1}}\n\ndata: [DONE]\n\n";

}  // namespace hearth::http
