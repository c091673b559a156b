#pragma once
// An engine on a Unix socket, in the loop of the test, that keeps what its slots hold as llama-server does: one token a
// byte. For tests; no product code includes it.
#include <unistd.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <filesystem>

#include "domain/json.h"
#include "prefix/store_fixture.h"
#include "rt/asio.h"

namespace hearth::keeper {

class ScriptedEngine {
 public:
  ScriptedEngine(rt::asio::io_context& io, sys::FakeFiles& files, std::string state_folder)
      : files_(files),
        state_folder_(std::move(state_folder)),
        path_(std::filesystem::temp_directory_path() / ("hearth-engine-" + std::to_string(::getpid()) + ".sock")),
        acceptor_(io, fresh(path_)) {
    rt::asio::co_spawn(io, serve(), rt::asio::detached);
  }
  ~ScriptedEngine() {
    acceptor_.close();
    std::filesystem::remove(path_);
  }
  ScriptedEngine(const ScriptedEngine&) = delete;
  ScriptedEngine& operator=(const ScriptedEngine&) = delete;

  [[nodiscard]] std::string socket_path() const { return path_; }

  unsigned slots = 1;
  std::map<unsigned, prefix::Tokens> held;
  std::function<void(const std::string& target)> on_call;  // before it is answered
  std::vector<std::string> calls;                          // their targets
  bool writes_known_form = true;
  bool tokenizes = true;  // else no text has tokens

  [[nodiscard]] auto evaluations() const { return std::ranges::count(calls, "/completion"); }
  [[nodiscard]] auto restores() const { return std::ranges::count(calls, "/slots/0?action=restore"); }

 private:
  using Json = domain::Json;
  using Stream = rt::asio::local::stream_protocol;

  static Stream::endpoint fresh(const std::string& path) {
    std::filesystem::remove(path);
    return {path};
  }

  rt::Task<void> serve() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(rt::kTuple);
      if (error) co_return;
      rt::asio::co_spawn(acceptor_.get_executor(), answer(std::move(socket)), rt::asio::detached);
    }
  }

  rt::Task<void> answer(Stream::socket socket) {
    namespace http = boost::beast::http;
    boost::beast::flat_buffer buffer;
    http::request<http::string_body> request;
    const auto [unread, received] = co_await http::async_read(socket, buffer, request, rt::kTuple);
    if (unread) co_return;
    const std::string target(request.target());
    calls.push_back(target);
    if (on_call) on_call(target);
    http::response<http::string_body> response(http::status::ok, 11);
    response.body() = answer_to(target, Json::parse(request.body(), nullptr, false)).dump();
    response.prepare_payload();
    (void)co_await http::async_write(socket, response, rt::kTuple);
  }

  Json answer_to(const std::string& target, const Json& body) {
    if (target == "/props") return Json{{"build_info", "b1"}, {"total_slots", slots}};
    if (target == "/apply-template") return Json{{"prompt", template_of(body)}};
    if (target == "/tokenize") return Json{{"tokens", tokens_of(body["content"].get<std::string>())}};
    if (target == "/completion") return evaluate(body);
    const auto slot = static_cast<unsigned>(std::stoul(target.substr(std::string("/slots/").size())));
    if (target.ends_with("save")) return save(held[slot], state_folder_ + "/" + body["filename"].get<std::string>());
    if (target.ends_with("restore")) return restore(held[slot], body["filename"].get<std::string>());
    held[slot].clear();
    return Json::object();
  }

  static std::string template_of(const Json& body) {
    std::string text;
    for (const auto& message : body["messages"])
      text += message["content"].get<std::string>();
    return text;
  }
  [[nodiscard]] prefix::Tokens tokens_of(const std::string& text) const {
    return tokenizes ? prefix::Tokens(text.begin(), text.end()) : prefix::Tokens{};
  }
  Json evaluate(const Json& body) {
    prefix::Tokens prompt = body["prompt"].get<prefix::Tokens>();
    prefix::Tokens& slot = held[body["id_slot"].get<unsigned>()];
    const std::size_t reused = prefix::common_prefix(slot, prompt);
    const std::size_t evaluated = prompt.size() - reused;
    const Json timings = {{"prompt_n", evaluated}, {"prompt_ms", 5.0 * static_cast<double>(evaluated)}};
    slot = std::move(prompt);
    return Json{{"timings", timings}};
  }
  Json save(const prefix::Tokens& slot, const std::string& path) {
    std::string bytes = prefix::state_of(slot);
    if (!writes_known_form) bytes[4] = 9;
    if (auto file = files_.create(path, sys::IfPresent::truncate, 0600)) (void)(*file)->write(bytes);
    return Json{{"n_saved", slot.size()}, {"n_written", bytes.size()}};
  }
  Json restore(prefix::Tokens& slot, const std::string& name) {
    const std::string bytes = files_.read(state_folder_ + "/" + name, 1'000'000).value_or(std::string());
    std::uint32_t count = 0;
    std::memcpy(&count, bytes.data() + 20, sizeof count);
    slot.resize(count);
    std::memcpy(slot.data(), bytes.data() + 24, count * sizeof(prefix::Token));
    return Json{{"n_restored", count}};
  }

  sys::FakeFiles& files_;
  std::string state_folder_;
  std::string path_;
  Stream::acceptor acceptor_;
};

}  // namespace hearth::keeper
