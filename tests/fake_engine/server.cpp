#include "tests/fake_engine/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/read.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/write.hpp>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <thread>

#include "rt/deadline.h"

namespace hearth::fake_engine {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using std::chrono::milliseconds;

namespace {

double ms_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

template <typename Socket>
bool peer_left(Socket& socket) {
  char byte;
  return ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void report_crash(std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

Server::Server(Flags flags, Scenario scenario, Journal journal)
    : flags_(std::move(flags)), scenario_(std::move(scenario)), journal_(std::move(journal)) {
  may_crash_ = scenario_.crash_starts == 0 || journal_.starts() <= scenario_.crash_starts;
}

int Server::run() {
  if (scenario_.ignore_term) std::signal(SIGTERM, SIG_IGN);
  if (scenario_.crash_at.where == "start" && may_crash_) crash();
  if (scenario_.stall_at.where == "start") {
    for (;;)
      ::pause();
  }
  std::this_thread::sleep_for(milliseconds(scenario_.listen_ms));
  if (!listen()) return 1;
  asio::co_spawn(io_, load(), report_crash);
  io_.run();
  journal_.write("stopped");
  return 0;
}

bool Server::listen() {
  try {
    if (flags_.host.ends_with(".sock")) {
      asio::local::stream_protocol::acceptor acceptor(io_, asio::local::stream_protocol::endpoint(flags_.host));
      asio::co_spawn(io_, accept(std::move(acceptor)), report_crash);
    } else {
      const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(flags_.host),
                                             static_cast<std::uint16_t>(flags_.port));
      asio::co_spawn(io_, accept(asio::ip::tcp::acceptor(io_, endpoint)), report_crash);
    }
    return true;
  } catch (const boost::system::system_error& error) {
    std::cerr << "couldn't bind HTTP server socket, hostname: " << flags_.host << ", port: " << flags_.port << "\n"
              << "exiting due to HTTP server error" << std::endl;
    return false;
  }
}

template <typename Acceptor>
rt::Task<void> Server::accept(Acceptor acceptor) {
  for (;;) {
    auto [error, socket] = co_await acceptor.async_accept(rt::kTuple);
    if (error) co_return;
    asio::co_spawn(io_, session(Socket(std::move(socket))), report_crash);
  }
}

void Server::claim_memory() {
  claimed_.resize(scenario_.claim_bytes);
  for (std::size_t at = 0; at < claimed_.size(); at += 4096)
    claimed_[at] = 1;
}

rt::Task<void> Server::load() {
  const auto begin = std::chrono::steady_clock::now();
  claim_memory();
  while (scenario_.busy && ms_since(begin) < scenario_.load_ms) {
    const auto burst = std::chrono::steady_clock::now();
    while (ms_since(burst) < 5) {
    }
    co_await rt::pause(milliseconds(1));
  }
  if (!scenario_.busy) co_await rt::pause(milliseconds(scenario_.load_ms / 2));
  co_await pass("loading");
  if (!scenario_.busy) co_await rt::pause(milliseconds(scenario_.load_ms - scenario_.load_ms / 2));
  if (!scenario_.ignore_term) await_term();
  ready_ = true;
  journal_.write("ready");
  std::cerr << "0.00.001.000 I srv  llama_server: model loaded" << std::endl;
  if (scenario_.crash_at.where == "ready") co_await rt::pause(milliseconds(scenario_.moment_ms));
  co_await pass("ready");
}

void Server::await_term() {
  auto signals = std::make_unique<asio::signal_set>(io_, SIGTERM, SIGINT);
  auto& waiting = *signals;
  waiting.async_wait([this, kept = std::move(signals)](rt::error_code, int) {
    std::cerr << "cleaning up before exit..." << std::endl;
    io_.stop();
  });
}

rt::Task<void> Server::pass(const char* where, int token) {
  if (may_crash_ && scenario_.crash_at.where == where && scenario_.crash_at.token == token) crash();
  if (scenario_.stall_at.where == where && scenario_.stall_at.token == token)
    co_await rt::pause(std::chrono::hours(24));
}

void Server::crash() {
  std::cerr << "0.00.001.000 E srv  fake: crashing on request" << std::endl;
  if (scenario_.crash_signal != 0) {
    std::signal(scenario_.crash_signal, SIG_DFL);
    std::raise(scenario_.crash_signal);
  }
  std::_Exit(1);
}

rt::Task<void> Server::session(Socket socket) {
  boost::beast::flat_buffer buffer;
  for (;;) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(100 << 20);
    const auto [error, size] = co_await http::async_read(socket, buffer, parser, rt::kTuple);
    if (error || !co_await answer(socket, parser.get())) co_return;
  }
}

std::optional<Json> Server::plain_answer(boost::beast::http::verb method, const std::string& path,
                                         const std::string& text) const {
  if (method == http::verb::get) {
    if (path == "/health" || path == "/v1/health") return Json{{"status", "ok"}};
    if (path == "/v1/models") return describe_models();
    if (path == "/props") return Json{{"total_slots", flags_.slots}, {"model_alias", flags_.alias}};
  }
  if (method == http::verb::post) {
    const auto body = Json::parse(text, nullptr, false);
    if (path == "/v1/embeddings") return embed(body);
    if (path == "/tokenize") return tokenize(body);
    if (path == "/detokenize") return Json{{"content", "what was said before "}};
    if (path == "/apply-template") return Json{{"prompt", body.is_object() ? body["messages"].dump() : ""}};
  }
  return std::nullopt;
}

rt::Task<bool> Server::answer(Socket& socket, const Request& request) {
  const std::string path(request.target().substr(0, request.target().find('?')));
  const bool keep = request.keep_alive();
  if (!ready_) {
    const auto loading = error_body(503, "Loading model", "unavailable_error");
    co_return co_await send(socket, 503, loading, keep);
  }
  if (request.method() == http::verb::post && path == "/v1/chat/completions") {
    co_return co_await generate(socket, request, Kind::chat);
  }
  if (request.method() == http::verb::post && path == "/v1/completions") {
    co_return co_await generate(socket, request, Kind::completion);
  }
  const auto plain = plain_answer(request.method(), path, request.body());
  if (plain) co_return co_await send(socket, 200, *plain, keep);
  const auto missing = error_body(404, "File Not Found", "not_found_error");
  co_return co_await send(socket, 404, missing, false);
}

Json Server::tokenize(const Json& body) const {
  Json tokens = Json::array();
  for (const auto& word : words_of(body.is_object() ? body.value("content", "") : ""))
    tokens.push_back(word.size());
  return {{"tokens", tokens}};
}

Json Server::describe_models() const {
  return {{"object", "list"},
          {"data", Json::array({{{"id", flags_.alias},
                                 {"object", "model"},
                                 {"owned_by", "llamacpp"},
                                 {"meta", {{"n_ctx", flags_.context.value_or(4096)}}}}})}};
}

Json Server::embed(const Json& body) const {
  const auto input = body.is_object() ? body.value("input", Json("")) : Json("");
  const auto text = input.is_string() ? input.get<std::string>() : input.dump();
  const auto words = words_of(text).size();
  return {
      {"object", "list"},
      {"model", flags_.alias},
      {"data",
       Json::array({{{"object", "embedding"}, {"index", 0}, {"embedding", {0.5, -0.5, static_cast<double>(words)}}}})},
      {"usage", {{"prompt_tokens", words}, {"total_tokens", words}}}};
}

rt::Task<bool> Server::take_slot(Socket& socket) {
  while (busy_slots_ >= flags_.slots) {
    if (peer_left(socket)) co_return false;
    co_await rt::pause(milliseconds(2));
  }
  ++busy_slots_;
  co_return true;
}

Server::Running Server::begin(Kind kind, const Json& body, const Request& request) {
  Running running{.number = ++last_number_, .question = understand(kind, body, scenario_), .timings = {}};
  journal_.write("begun",
                 {{"n", running.number}, {"path", std::string(request.target())}, {"stream", running.question.stream}});
  return running;
}

void Server::note_end(const Running& running, Ended ended) const {
  journal_.write(ended == Ended::finished ? "finished" : "cancelled",
                 {{"n", running.number}, {"tokens", running.timings.generated}});
}

// At least one word is always evaluated, as the real engine does.
void Server::find_cached(Running& running) {
  const auto& prompt = running.question.prompt;
  const auto same = std::ranges::mismatch(prompt, last_prompt_).in1 - prompt.begin();
  const auto size = static_cast<std::ptrdiff_t>(prompt.size());
  running.timings.cached = static_cast<int>(std::min(same, size - 1));
  running.timings.evaluated = static_cast<int>(size) - running.timings.cached;
  last_prompt_ = prompt;
}

rt::Task<bool> Server::generate(Socket& socket, const Request& request, Kind kind) {
  const auto body = Json::parse(request.body(), nullptr, false);
  const char* const needed = kind == Kind::chat ? "messages" : "prompt";
  if (!body.is_object() || !body.contains(needed)) {
    const auto why = body.is_object() ? std::string("'") + needed + "' is required" : std::string("invalid JSON");
    const auto refusal = error_body(400, why, "invalid_request_error");
    co_return co_await send(socket, 400, refusal, request.keep_alive());
  }
  Running running = begin(kind, body, request);
  auto ended = Ended::left;
  if (co_await take_slot(socket)) {
    find_cached(running);
    ended = running.question.stream ? co_await stream(socket, running)
                                    : co_await reply(socket, running, request.keep_alive());
    --busy_slots_;
  }
  note_end(running, ended);
  co_return ended == Ended::finished&& request.keep_alive();
}

// In four steps, each told when progress was asked for. False when the client has left.
rt::Task<bool> Server::prefill(Socket& socket, Running& running) {
  const auto begin = std::chrono::steady_clock::now();
  const auto& question = running.question;
  auto& timings = running.timings;
  constexpr int kSteps = 4;
  for (int step = 0; step <= kSteps; ++step) {
    if (step > 0) co_await rt::pause(milliseconds(scenario_.prefill_ms) / kSteps);
    if (step == 1) co_await pass("prefill");
    if (!question.stream) continue;
    const int processed = timings.cached + timings.evaluated * step / kSteps;
    const auto chunk =
        progress_chunk(question, flags_.alias, timings.cached, processed, step == 0 ? 0 : ms_since(begin));
    if (peer_left(socket)) co_return false;
    if (question.return_progress && !co_await send_event(socket, chunk.dump())) co_return false;
  }
  timings.prompt_ms = ms_since(begin);
  co_return true;
}

rt::Task<Server::Ended> Server::stream(Socket& socket, Running& running) {
  http::response<http::empty_body> head(http::status::ok, 11);
  head.set(http::field::content_type, "text/event-stream");
  head.set("X-Accel-Buffering", "no");
  head.chunked(true);
  http::response_serializer<http::empty_body> serializer(head);
  const auto [error, size] = co_await http::async_write_header(socket, serializer, rt::kTuple);
  if (error || !co_await prefill(socket, running)) co_return Ended::left;
  const auto begin = std::chrono::steady_clock::now();
  const auto& question = running.question;
  if (question.kind == Kind::chat && !co_await send_event(socket, role_chunk(flags_.alias).dump()))
    co_return Ended::left;
  for (int nth = 1; nth <= question.tokens; ++nth) {
    co_await pass("token", nth);
    if (nth > 1) co_await rt::pause(milliseconds(scenario_.token_ms));
    if (peer_left(socket)) co_return Ended::left;
    if (!co_await send_event(socket, token_chunk(question, flags_.alias, nth).dump())) co_return Ended::left;
    running.timings.generated = nth;
  }
  running.timings.generated_ms = ms_since(begin);
  for (const auto& chunk : last_chunks(question, flags_.alias, running.timings)) {
    if (!co_await send_event(socket, chunk.dump())) co_return Ended::left;
  }
  if (!co_await send_event(socket, "[DONE]")) co_return Ended::left;
  const auto [failed, sent] = co_await asio::async_write(socket, http::make_chunk_last(), rt::kTuple);
  co_return failed ? Ended::left : Ended::finished;
}

rt::Task<Server::Ended> Server::reply(Socket& socket, Running& running, bool keep_alive) {
  (void)co_await prefill(socket, running);
  const auto begin = std::chrono::steady_clock::now();
  auto looked = begin;
  for (int nth = 1; nth <= running.question.tokens; ++nth) {
    co_await pass("token", nth);
    if (nth > 1) co_await rt::pause(milliseconds(scenario_.token_ms));
    running.timings.generated = nth;
    if (ms_since(looked) < 1000) continue;
    looked = std::chrono::steady_clock::now();
    if (busy_slots_ == 1 && peer_left(socket)) co_return Ended::left;
  }
  running.timings.generated_ms = ms_since(begin);
  const auto answer = whole_answer(running.question, flags_.alias, running.timings);
  co_return co_await send(socket, 200, answer, keep_alive) || !keep_alive ? Ended::finished : Ended::left;
}

rt::Task<bool> Server::send(Socket& socket, int status, const Json& body, bool keep_alive) {
  http::response<http::string_body> response(static_cast<http::status>(status), 11);
  response.set(http::field::content_type, "application/json; charset=utf-8");
  response.keep_alive(keep_alive);
  response.body() = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  response.prepare_payload();
  const auto [error, size] = co_await http::async_write(socket, response, rt::kTuple);
  co_return !error && keep_alive;
}

rt::Task<bool> Server::send_event(Socket& socket, const std::string& data) {
  const std::string event = "data: " + data + "\n\n";
  const auto [error, size] = co_await asio::async_write(socket, http::make_chunk(asio::buffer(event)), rt::kTuple);
  co_return !error;
}

}  // namespace hearth::fake_engine
