// The listener, connections and the relay together, over real sockets on loopback (port 0) and a scripted engine.
#include "http/server_fixture.h"

namespace hearth::http {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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

TEST_F(ServerTest, APageOfThisMachineMayAskAndRead) {
  const std::string page = "Host: localhost\r\nConnection: close\r\nOrigin: http://localhost:3000\r\n";
  const std::string preflight =
      run(talk("OPTIONS /hello HTTP/1.1\r\n" + page + "Access-Control-Request-Headers: authorization,x-a\r\n\r\n"));
  EXPECT_THAT(preflight, StartsWith("HTTP/1.1 204"));
  EXPECT_THAT(preflight, HasSubstr("Access-Control-Allow-Origin: http://localhost:3000\r\nVary: Origin\r\n"));
  EXPECT_THAT(preflight, HasSubstr("Access-Control-Allow-Headers: authorization,x-a\r\n"));
  EXPECT_THAT(preflight, Not(HasSubstr("Content-Length")));
}

TEST_F(ServerTest, AnAnswerNamesThePageThatMayReadIt) {
  const std::string answer =
      run(talk("GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nOrigin: http://localhost:3000\r\n\r\n"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("Access-Control-Allow-Origin: http://localhost:3000\r\nVary: Origin\r\n"));
}

TEST_F(ServerTest, AForeignPageIsAllowedNothing) {
  const std::string answer = run(
      talk("OPTIONS /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nOrigin: https://evil.example\r\n\r\n"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(answer, Not(HasSubstr("Access-Control")));
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

TEST_F(ServerTest, ANumberThatNoDoubleHoldsIs400) {
  const std::string answer = run(talk(post("/v1/chat/completions", R"({"model":"m","temperature":1e999})")));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer, HasSubstr("cannot be read"));
}

rt::Task<void> keep_body(Exchange& exchange, std::string& into) {
  auto body = co_await exchange.read_body();
  if (body) into = std::move(*body);
  co_await respond_json(exchange, 200, domain::Json("taken"));
}

TEST(ExchangeRoom, GrowsWithWhatHasComeAndNotWithWhatIsDeclared) {
  constexpr std::size_t kFirst = 64U << 10;
  EXPECT_EQ(grown_room(0, 100'000'000), kFirst);
  EXPECT_EQ(grown_room(0, 10), 10U);
  EXPECT_EQ(grown_room(kFirst, 100'000'000), 2 * kFirst);
  EXPECT_EQ(grown_room(kFirst, kFirst + 1), kFirst + 1);
  EXPECT_EQ(grown_room(kFirst, std::nullopt), 2 * kFirst);
}

TEST_F(ServerTest, ABodyLargerThanItsFirstRoomArrivesWhole) {
  std::string seen;
  router.add(beast::http::verb::post, "/body", [&](Exchange& exchange) { return keep_body(exchange, seen); });
  const std::string body = std::string(300'000, 'x') + "end";
  EXPECT_THAT(run(talk(post("/body", body))), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(seen, body);
}

TEST_F(ServerTest, ABodyThatStopsComingIs408) {
  limits.transfer_wait = 20ms;
  const std::string answer =
      run(talk("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"model"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 408"));
  EXPECT_THAT(answer, HasSubstr("stopped coming"));
}

// The watchdog and the client's pauses are of one loop: however late that runs, a pause is never more than two ticks.
TEST_F(ServerTest, ABodyThatComesSlowlyIsNotCut) {
  limits.transfer_wait = 60ms;
  engine.script = {std::string(kStreamHead), chunk(kToken), chunk(kEnd), "0\r\n\r\n"};
  const auto send_slowly = [this]() -> rt::Task<std::string> {
    tcp::socket socket = co_await connect();
    socket.set_option(tcp::no_delay(true));
    for (const char byte : post("/v1/completions", R"({"model":"m","prompt":"a","stop":"b"})")) {
      co_await asio::async_write(socket, asio::buffer(&byte, 1), rt::kTuple);
      if (byte == '"' || byte == ':') co_await rt::pause(10ms);
    }
    std::string answer;
    co_await asio::async_read(socket, asio::dynamic_buffer(answer), rt::kTuple);
    co_return answer;
  };
  EXPECT_THAT(run(send_slowly()), StartsWith("HTTP/1.1 200"));
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
