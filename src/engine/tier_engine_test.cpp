// The supervisor, the line and the library with a stock engine: weights leave memory, come back, and are packed only
// once. HEARTH_TEST_ENGINE: the command of a dynamically linked llama-server, words as a shell splits them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/command.h"
#include "engine/llama_starter.h"
#include "engine/packed_key.h"
#include "engine/supervisor.h"
#include "engine/tier_link.h"
#include "engine/tier_spans.h"
#include "tests/support/shell_words.h"

namespace hearth::engine {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// On a disk, not in /tmp: memory file systems keep their pages.
std::string make_folder(const fs::path& where) {
  std::string pattern = where / "hearth-tier-XXXXXX";
  return ::mkdtemp(pattern.data());
}

// One completion over the engine's socket; blocks. The answer's text, empty when there was none.
std::string complete(const std::string& socket_path, const std::string& prompt) {
  const base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path.c_str(), sizeof address.sun_path - 1);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  const auto body =
      nlohmann::json{{"prompt", prompt}, {"n_predict", 16}, {"temperature", 0}, {"cache_prompt", false}}.dump();
  const auto request =
      "POST /completion HTTP/1.1\r\nHost: engine\r\nConnection: close\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) return {};
  std::string answer;
  char piece[4096];
  for (ssize_t got = 0; (got = ::recv(fd.get(), piece, sizeof piece, 0)) > 0;) {
    answer.append(piece, static_cast<std::size_t>(got));
  }
  const auto start = answer.find("\r\n\r\n");
  if (start == std::string::npos) return {};
  const auto json = nlohmann::json::parse(answer.substr(start + 4), nullptr, false);
  return json.is_object() ? json.value("content", std::string()) : std::string();
}

class TierEngine : public testing::Test {
 protected:
  TierEngine() {
    const char* command = std::getenv("HEARTH_TEST_ENGINE");
    if (command == nullptr)
      throw std::runtime_error("HEARTH_TEST_ENGINE is not set; it holds the command of a llama-server");
    spec.command = test::shell_words(command);
    make_model();
    spec.alias = "m";
    spec.context = 512;
    spec.slots = 1;
    spec.tier = TierLaunch{.library = HEARTH_TIER_LIBRARY, .folder = folder + "/packed"};
    spec.tier->key = make_packed_key({.content_digest = "0123abcd", .engine_version = "test"});
  }
  ~TierEngine() override {
    if (supervisor) {
      EXPECT_TRUE(run(supervisor->shut_down()));
    }
    supervisor.reset();
    fs::remove_all(folder);
    fs::remove_all(sockets);
  }

  void make_model() {
    spec.model_file = folder + "/m.gguf";
    const Command make{
        .argv = {HEARTH_MAKE_MODEL, "--out", spec.model_file, "--layers", "8", "--embd", "1024", "--ff", "2816",
                 "--heads", "16", "--kv-heads", "8", "--vocab", "4096", "--type", "q4_0", "--seed", "1"},
        .deadline = 60s};
    const auto made = run_checked(make);
    if (!made) throw std::runtime_error(made.error().message);
    // Pages that are not on the disk yet cannot leave memory; what the store imports is.
    const base::Fd file(::open(spec.model_file.c_str(), O_RDONLY | O_CLOEXEC));
    if (::fsync(file.get()) != 0) throw std::runtime_error("the model could not be synced");
  }
  void make_supervisor() {
    auto starter = std::make_unique<LlamaStarter>(
        spec, LlamaStarter::Parts{io.get_executor(), processes, stats, files, sockets, own_environment(), {}});
    supervisor = std::make_unique<Supervisor>(
        domain::ModelId::parse("m").value(),
        Supervisor::Parts{io.get_executor(), std::move(starter), clock, pace,
                          [this](const domain::Event& event) { events.push_back(event); },
                          [](std::exception_ptr failure) { std::rethrow_exception(failure); }},
        SupervisorLimits{});
  }
  template <typename T>
  T run(rt::Task<T> task) {
    std::optional<T> result;
    boost::asio::co_spawn(io, std::move(task), [&](std::exception_ptr failure, T value) {
      if (failure) std::rethrow_exception(failure);
      result = std::move(value);
    });
    io.restart();
    while (!result && io.run_one() > 0) {
    }
    return std::move(result).value();
  }
  [[nodiscard]] std::vector<std::string> told() const {
    std::vector<std::string> names;
    for (const auto& event : events)
      names.push_back(event.what);
    return names;
  }
  bool wait_for(const std::string& what) {
    const auto deadline = clock.now() + 60s;
    io.restart();
    while (clock.now() < deadline) {
      for (const auto& event : events) {
        if (event.what == what) return true;
      }
      io.run_one_for(100ms);
    }
    return false;
  }
  base::Result<TierReply> order(TierOp op) {
    auto reply = run(supervisor->tier()->command(op, {}, clock.now() + 60s));
    if (reply) {
      std::cout << name_of(op) << ": " << base::to_ms(reply->end - reply->begin) << " ms, moved "
                << reply->moved.value_or(0) << ", arena " << reply->arena.value_or(0) << " in memory "
                << reply->arena_before.value_or(0) << " -> " << reply->arena_after.value_or(0) << ", model "
                << reply->model.value_or(0) << " in memory " << reply->model_before.value_or(0) << " -> "
                << reply->model_after.value_or(0) << " " << reply->why << "\n";
    }
    return reply;
  }

  std::string folder = make_folder(fs::current_path());
  std::string sockets = make_folder(fs::temp_directory_path());
  boost::asio::io_context io;
  sys::LinuxProcesses processes;
  sys::LinuxProcStats stats;
  sys::LinuxFiles files;
  base::SystemClock clock;
  RealPace pace;
  LaunchSpec spec;
  std::vector<domain::Event> events;
  std::unique_ptr<Supervisor> supervisor;
};

TEST_F(TierEngine, WeightsLeaveAndComeBackAndArePackedOnce) {
  make_supervisor();
  const auto first = run(supervisor->ensure_ready()).value();
  const auto link = supervisor->tier();
  ASSERT_TRUE(link && link->hello());
  for (const auto power :
       {TierPower::kProbe, TierPower::kArena, TierPower::kPacked, TierPower::kHibernate, TierPower::kWake}) {
    EXPECT_EQ(link->why_missing(power), "");
  }
  const auto asked = clock.now();
  const auto text = complete(first.socket_path, "Once upon a time there was");
  ASSERT_NE(text, "");
  ASSERT_TRUE(wait_for("packed_published")) << testing::PrintToString(told());
  link->catch_up();
  const auto spans = link->spans_within(asked, clock.now());
  const auto share = tier_share(spans, asked, std::nullopt, clock.now());
  EXPECT_GT(share.prefill_ms.value_or(0), 0);
  EXPECT_TRUE(share.tokenize_ms);
  std::cout << "tokenize " << share.tokenize_ms.value_or(-1) << " ms, computing " << share.prefill_ms.value_or(-1)
            << " ms\n";

  const auto status = order(TierOp::kStatus).value();
  ASSERT_TRUE(status.done()) << status.why;
  ASSERT_GT(status.arena.value(), 1U << 20);
  EXPECT_EQ(status.arena_after, status.arena);
  const auto slept = order(TierOp::kHibernate).value();
  ASSERT_TRUE(slept.done()) << slept.why;
  EXPECT_LT(slept.arena_after.value(), status.arena.value() / 20);
  EXPECT_GE(slept.moved.value(), status.arena.value() / 20 * 19);
  EXPECT_LT(slept.model_after.value(), status.model.value() / 20);
  const auto woken = order(TierOp::kWake).value();
  ASSERT_TRUE(woken.done()) << woken.why;
  EXPECT_EQ(woken.arena_after, status.arena);
  EXPECT_EQ(complete(first.socket_path, "Once upon a time there was"), text);

  ASSERT_TRUE(run(supervisor->stop()));
  EXPECT_TRUE(link->closed());
  EXPECT_THAT(told(), Not(Contains("tier_missing")));
  EXPECT_THAT(told(), Not(Contains("packed_attached")));
  events.clear();
  const auto second = run(supervisor->ensure_ready()).value();
  EXPECT_EQ(complete(second.socket_path, "Once upon a time there was"), text);
  EXPECT_TRUE(wait_for("weights_settled"));
  EXPECT_THAT(told(), Contains("packed_attached"));
  EXPECT_NE(supervisor->tier(), link);
  std::cout << "ready in " << base::to_ms(*first.start->ready - first.start->spawned) << " ms while packing, "
            << base::to_ms(*second.start->ready - second.start->spawned) << " ms with packed weights\n";
}

TEST_F(TierEngine, WithoutTheLibraryItServesAsStock) {
  spec.tier->library = folder + "/no-such.so";
  make_supervisor();
  const auto ready = run(supervisor->ensure_ready()).value();
  EXPECT_FALSE(supervisor->tier());
  EXPECT_THAT(told(), Contains("tier_missing"));
  EXPECT_NE(complete(ready.socket_path, "Once upon"), "");
}

TEST_F(TierEngine, ALibraryThatDoesNotSpeakUpIsToldOfAndTheEngineServes) {
  spec.tier->library = folder + "/empty.so";
  ASSERT_TRUE(files.create(spec.tier->library, sys::IfPresent::fail, 0644));
  make_supervisor();
  const auto ready = run(supervisor->ensure_ready()).value();
  ASSERT_TRUE(supervisor->tier());
  EXPECT_FALSE(supervisor->tier()->hello());
  ASSERT_THAT(told(), Contains("tier_missing"));
  EXPECT_EQ(run(supervisor->tier()->command(TierOp::kWake, {}, clock.now() + 1s)).error().code,
            base::ErrorCode::unsupported);
  EXPECT_NE(complete(ready.socket_path, "Once upon"), "");
}

}  // namespace
}  // namespace hearth::engine
