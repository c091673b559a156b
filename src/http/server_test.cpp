// The listener, connections and the relay together, over real sockets on loopback (port 0) and a scripted engine.
#include "http/server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>

#include "http/openai_api.h"
#include "http/relay.h"
#include "http/respond.h"
#include "rt/deadline.h"

namespace hearth::http {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
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
    auto value = co_await rt::within(20s, std::move(client));
    co_await server->stop(5s);
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

const std::string kChat = R"({"model":"m","stream":true,"messages":[]})";
const std::string kWhole = R"({"model":"m","messages":[]})";
const std::string kToken = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";
const std::string kProgress = "data: {\"choices\":[],\"prompt_progress\":{\"total\":1}}\n\n";
const std::string kEnd =
    "data: "
    "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"timings\":{\"prompt_n\":2,\"predicted_n\":"
    "1}}\n\ndata: [DONE]\n\n";

TEST_F(ServerTest, ForwardsAStreamWithoutTheProgressEvents) {
  engine.script = {std::string(kStreamHead), chunk(kProgress), chunk(kToken), chunk(kEnd), "0\r\n\r\n"};
  const std::string answer = run(talk(post("/v1/chat/completions", kChat)));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("X-Accel-Buffering: no\r\n"));
  EXPECT_THAT(answer, HasSubstr("Cache-Control: no-cache\r\n"));
  EXPECT_THAT(answer, HasSubstr("Server-Timing: queue;dur=1\r\n"));
  EXPECT_THAT(answer, HasSubstr("x-hearth-request-id: id1\r\n"));
  EXPECT_THAT(answer, HasSubstr(chunk(kToken) + chunk(kEnd) + "0\r\n\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("prompt_progress")));
  EXPECT_THAT(engine.request, HasSubstr("\"return_progress\":true"));
  ASSERT_EQ(journal.seen.size(), 1U);
  EXPECT_EQ(journal.seen[0].status, 200);
  EXPECT_TRUE(journal.seen[0].prefill_began && journal.seen[0].first_token && journal.seen[0].timings);
  EXPECT_EQ(journal.seen[0].process->bytes_read, 1U) << "the lease hears that the answer was whole";
}

TEST_F(ServerTest, TheGateIsToldWhoAsksAndForHowLong) {
  engine.script = {std::string(kStreamHead), chunk(kToken), chunk(kEnd), "0\r\n\r\n"};
  (void)run(talk(post("/v1/chat/completions", R"({"model":"m","messages":[],"keep_alive":60})",
                      "User-Agent: openai-python/1.2\r\n")));
  EXPECT_EQ(gate.last_asker.owner, "openai-python at 127.0.0.1");
  EXPECT_EQ(gate.last_asker.keep_alive, domain::KeepAlive{60s});
}

TEST_F(ServerTest, PutsAWholeAnswerTogether) {
  engine.script = {std::string(kStreamHead), chunk(kToken), chunk(kEnd), "0\r\n\r\n"};
  const std::string answer = run(talk(post("/v1/chat/completions", kWhole)));
  EXPECT_THAT(answer, HasSubstr(R"("message":{"role":"assistant","content":"Hi"})"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: application/json; charset=utf-8\r\n"));
}

TEST_F(ServerTest, AnHttp10ClientGetsBareBytes) {
  engine.script = {std::string(kStreamHead), chunk(kToken), chunk(kEnd), "0\r\n\r\n"};
  const std::string answer =
      run(talk(fmt::format("POST /v1/chat/completions HTTP/1.0\r\nContent-Length: {}\r\n\r\n{}", kChat.size(), kChat)));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n" + kToken + kEnd)) << answer;
}

TEST_F(ServerTest, PassesTheEnginesRefusalOn) {
  engine.script = {
      "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"error\":\"too "
      "long\"}\n"};
  const std::string answer = run(talk(post("/v1/chat/completions", kChat)));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer, HasSubstr("{\"error\":\"too long\"}"));
}

TEST_F(ServerTest, AnEngineThatDiesBeforeItsAnswerIs502WithItsLastWords) {
  engine.script = {};
  const std::string answer = run(talk(post("/v1/chat/completions", kChat)));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 502"));
  EXPECT_THAT(answer, HasSubstr("last words"));
}

TEST_F(ServerTest, AnEngineThatDiesInAStreamEndsItWithAnErrorEvent) {
  engine.script = {std::string(kStreamHead), chunk(kToken)};
  const std::string answer = run(talk(post("/v1/chat/completions", kChat)));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("data: {\"error\":{\"message\":\"the engine was killed"));
  EXPECT_TRUE(answer.ends_with("0\r\n\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("[DONE]")));
  EXPECT_EQ(journal.seen.at(0).process->bytes_read, 2U) << "the lease hears that the answer was not whole";
}

TEST_F(ServerTest, AFailureToAcquireKeepsItsStatusAndRetryHint) {
  gate.failure = base::Error{base::ErrorCode::engine_failed, "three starts failed", 2500ms};
  const std::string answer = run(talk(post("/v1/chat/completions", kWhole)));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 502"));
  EXPECT_THAT(answer, HasSubstr("Retry-After: 3\r\n"));
}

TEST_F(ServerTest, AClientThatLeavesCancelsItsRequestInTheEngine) {
  engine.script = {std::string(kStreamHead), chunk(kToken)};
  engine.stay_silent_at_end = true;
  const auto leave_after_the_first_token = [this]() -> rt::Task<bool> {
    tcp::socket socket = co_await connect();
    const std::string request = post("/v1/chat/completions", kChat);
    co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
    std::string answer;
    co_await asio::async_read_until(socket, asio::dynamic_buffer(answer), "Hi", asio::use_awaitable);
    socket.close();
    while (journal.seen.empty() || !engine.peer_left)
      co_await rt::pause(1ms);
    co_return true;
  };
  EXPECT_TRUE(run(leave_after_the_first_token()));
  EXPECT_EQ(journal.seen[0].status, 499);
}

TEST_F(ServerTest, AClientThatLeavesBeforeTheAnswerCancelsToo) {
  engine.stay_silent_at_end = true;
  const auto leave_at_once = [this]() -> rt::Task<bool> {
    tcp::socket socket = co_await connect();
    const std::string request = post("/v1/chat/completions", kWhole);
    co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
    while (engine.request.empty())
      co_await rt::pause(1ms);
    socket.close();
    while (journal.seen.empty() || !engine.peer_left)
      co_await rt::pause(1ms);
    co_return true;
  };
  EXPECT_TRUE(run(leave_at_once()));
  EXPECT_EQ(journal.seen[0].status, 499);
}

TEST_F(ServerTest, OneConnectionTakesManyRequests) {
  const std::string one = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string last = "GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const std::string answer = run(talk(one + one + last));
  std::size_t answers = 0;
  for (auto at = answer.find("\"hi\""); at != std::string::npos; at = answer.find("\"hi\"", at + 1))
    ++answers;
  EXPECT_EQ(answers, 3U) << answer;
}

TEST_F(ServerTest, HeadGivesTheHeadOnly) {
  const std::string answer = run(talk("HEAD /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, Not(HasSubstr("\"hi\"")));
}

TEST_F(ServerTest, UnknownPathsAndMethodsAreTold) {
  EXPECT_THAT(run(talk("GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")),
              StartsWith("HTTP/1.1 404"));
}

TEST_F(ServerTest, AWrongMethodIs405) {
  EXPECT_THAT(run(talk("PUT /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")),
              StartsWith("HTTP/1.1 405"));
}

TEST_F(ServerTest, AForeignHostIsRefused) {
  EXPECT_THAT(run(talk("GET /hello HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")),
              StartsWith("HTTP/1.1 403"));
}

TEST_F(ServerTest, WhatIsNotHttpIs400) {
  EXPECT_THAT(run(talk("\x16\x03\x01 hello there\r\n\r\n")), StartsWith("HTTP/1.1 400"));
}

TEST_F(ServerTest, ABodyThatIsNotJsonIs400) {
  const std::string answer = run(talk(post("/v1/chat/completions", "not json")));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer, HasSubstr("is not JSON"));
}

TEST_F(ServerTest, ATooLargeBodyIs413BeforeItIsRead) {
  limits.body = 1000;
  const std::string answer =
      run(talk("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000000\r\n\r\nxxxx"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer, HasSubstr("max_body"));
}

TEST_F(ServerTest, ATooLargeChunkedBodyIs413) {
  limits.body = 1000;
  const std::string answer =
      run(talk("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" +
               chunk(std::string(5000, 'x')) + "0\r\n\r\n"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413"));
}

TEST_F(ServerTest, AChunkedBodyIsUnderstood) {
  engine.script = {std::string(kStreamHead), chunk(kToken), chunk(kEnd), "0\r\n\r\n"};
  const std::string answer =
      run(talk("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: "
               "chunked\r\n\r\n" +
               chunk(kWhole.substr(0, 7)) + chunk(kWhole.substr(7)) + "0\r\n\r\n"));
  EXPECT_THAT(answer, HasSubstr("\"Hi\""));
}

TEST_F(ServerTest, AClientThatExpectsContinueGetsIt) {
  engine.script = {std::string(kStreamHead), chunk(kToken), chunk(kEnd), "0\r\n\r\n"};
  EXPECT_THAT(run(talk(post("/v1/chat/completions", kWhole, "Expect: 100-continue\r\n"))),
              StartsWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"));
}

TEST_F(ServerTest, TooManyHeadersAre431) {
  limits.head = 2000;
  EXPECT_THAT(run(talk("GET /hello HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(5000, 'x'))),
              StartsWith("HTTP/1.1 431"));
}

TEST_F(ServerTest, HeadersThatNeverEndAre408) {
  limits.head_wait = 20ms;
  const std::string answer = run(talk("GET /hello HTTP/1.1\r\nHost: loc"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 408"));
}

TEST_F(ServerTest, StoppingLetsAStreamFinish) {
  engine.script = {std::string(kStreamHead), chunk(kToken)};
  engine.stay_silent_at_end = true;
  const auto stop_in_the_middle = [this]() -> rt::Task<std::string> {
    tcp::socket idle = co_await connect();
    tcp::socket busy = co_await connect();
    const std::string request = post("/v1/chat/completions", kChat);
    co_await asio::async_write(busy, asio::buffer(request), asio::use_awaitable);
    std::string answer;
    co_await asio::async_read_until(busy, asio::dynamic_buffer(answer), "Hi", asio::use_awaitable);
    co_await server->stop(50ms);  // the engine stays silent: the stream is cut at the end of the grace
    co_await asio::async_read(busy, asio::dynamic_buffer(answer), rt::kTuple);
    char byte = 0;
    const auto [error, read] = co_await idle.async_read_some(asio::buffer(&byte, 1), rt::kTuple);
    co_return error ? answer : "the idle connection was left open";
  };
  EXPECT_THAT(run(stop_in_the_middle()), HasSubstr("Hi"));
  ASSERT_EQ(journal.seen.size(), 1U);
  EXPECT_EQ(journal.seen[0].status, 200);
  EXPECT_THAT(journal.seen[0].error.value_or(""), HasSubstr("the server stopped"));
}

}  // namespace
}  // namespace hearth::http
