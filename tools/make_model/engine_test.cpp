// Real llama-server loads a tiny model of every type and gives the same greedy tokens twice. The engine is named by
// HEARTH_TEST_ENGINE: its command up to and including llama-server, words as a shell splits them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/fd.h"
#include "tests/support/shell_words.h"
#include "tests/support/temp_folder.h"
#include "tools/make_model/model_file.h"

namespace hearth::make_model {
namespace {

using Json = nlohmann::json;

// llama-server with one model, on a Unix socket; gone with the object.
class Engine {
 public:
  Engine(const std::string& command, const std::string& model, const std::string& folder)
      : socket_(folder + "/e.sock"), log_(folder + "/e.log") {
    std::vector<std::string> words = test::shell_words(command);
    for (const char* word :
         {"--host", socket_.c_str(), "-m", model.c_str(), "-c", "256", "-t", "1", "--parallel", "1", "--seed", "1"})
      words.emplace_back(word);
    start(words);
  }
  ~Engine() {
    if (process_ <= 0) return;
    ::kill(-process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Until it answers, or until it has ended.
  [[nodiscard]] bool ready() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < end && ::waitpid(process_, nullptr, WNOHANG) == 0) {
      if (ask("GET", "/health", "").starts_with("HTTP/1.1 200")) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  [[nodiscard]] Json post(const std::string& path, const Json& body) {
    const std::string answer = ask("POST", path, body.dump());
    const auto begin = answer.find("\r\n\r\n");
    return begin == std::string::npos ? Json() : Json::parse(answer.substr(begin + 4), nullptr, false);
  }
  [[nodiscard]] std::string log() const {
    std::ifstream in(log_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  void start(std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (auto& word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    if (::posix_spawnp(&process_, arguments[0], &actions, &attributes, arguments.data(), environ) != 0) process_ = -1;
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
  }

  // One request on a connection of its own; empty when there is nobody.
  std::string ask(const std::string& method, const std::string& path, const std::string& body) {
    const base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::strncpy(address.sun_path, socket_.c_str(), sizeof address.sun_path - 1);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return "";
    const std::string request =
        method + " " + path +
        " HTTP/1.1\r\nHost: engine\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
      return "";
    std::string answer;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::recv(socket.get(), buffer, sizeof buffer, 0)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(got));
    return answer;
  }

  std::string socket_;
  std::string log_;
  pid_t process_ = -1;
};

class EngineLoads : public ::testing::TestWithParam<WeightType> {
 protected:
  test::TempFolder own_;
  std::string folder_ = own_.path();
};

Json greedy(Engine& engine, const std::string& prompt) {
  return engine.post("/completion", {{"prompt", prompt},
                                     {"n_predict", 16},
                                     {"temperature", 0},
                                     {"cache_prompt", false},
                                     {"return_tokens", true},
                                     {"ignore_eos", true},
                                     {"n_probs", 1}});
}

TEST_P(EngineLoads, AndGeneratesTheSameTwice) {
  const char* command = std::getenv("HEARTH_TEST_ENGINE");
  ASSERT_TRUE(command != nullptr && *command != '\0')
      << "HEARTH_TEST_ENGINE is not set; set it to the command that starts llama-server";
  const Shape shape = {.layers = 2,
                       .embd = 256,
                       .ff = 512,
                       .heads = 4,
                       .kv_heads = 2,
                       .vocab = 4096,
                       .context = 512,
                       .type = GetParam(),
                       .seed = 5};
  const std::string model = folder_ + "/m.gguf";
  const std::atomic<bool> stop = false;
  ASSERT_TRUE(write_model(llama_plan(shape), model, {}, stop));
  Engine engine(command, model, folder_);
  ASSERT_TRUE(engine.ready()) << engine.log();

  const std::string prompt = "Turn on the kitchen lights, please.";
  const Json first = greedy(engine, prompt);
  ASSERT_TRUE(first.contains("tokens")) << first.dump() << engine.log();
  EXPECT_EQ(first["tokens"].size(), 16U);
  EXPECT_EQ(first["tokens"], greedy(engine, prompt)["tokens"]);
  // A NaN would be null here, and every token the same.
  for (const auto& token : first["completion_probabilities"]) {
    ASSERT_TRUE(token["logprob"].is_number()) << token.dump();
    EXPECT_LE(token["logprob"].get<double>(), 0) << token.dump();
  }
  const Json split = engine.post("/tokenize", {{"content", prompt}});
  EXPECT_LE(split["tokens"].size(), prompt.size() / 2) << split.dump();
  EXPECT_EQ(engine.post("/detokenize", {{"tokens", split["tokens"]}})["content"], prompt);
}

INSTANTIATE_TEST_SUITE_P(AllTypes, EngineLoads,
                         ::testing::Values(WeightType::q4_0, WeightType::q8_0, WeightType::f16, WeightType::q4_k),
                         [](const auto& instance) { return std::string(layout_of(instance.param).name); });

}  // namespace
}  // namespace hearth::make_model
