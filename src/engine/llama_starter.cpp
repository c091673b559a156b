#include "engine/llama_starter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>

#include "engine/reaper.h"

namespace hearth::engine {
namespace {

constexpr auto kHealthLimit = std::chrono::seconds(1);

// FNV-1a: a short name for an id that may be longer than a socket's path.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

class LlamaProcess final : public EngineProcess {
 public:
  LlamaProcess(const LlamaStarter::Parts& parts, sys::SpawnedProcess process, std::string base_path)
      : stats_(parts.stats),
        files_(parts.files),
        stop_(parts.stop),
        socket_path_(base_path + ".sock"),
        record_path_(base_path + ".json"),
        child_(parts.executor, parts.processes, std::move(process)) {}

  rt::Task<void> run() override {
    co_await child_.run();
    // What cannot be removed now, the reaper removes at the next start of the server.
    (void)files_.remove(socket_path_);
    (void)files_.remove(record_path_);
  }
  rt::Task<Health> health() override { return ask_health(socket_path_, kHealthLimit); }
  rt::Task<bool> stop() override {
    const auto stopped = co_await stop_child(child_, stop_);
    co_return stopped != Stopped::stuck;
  }

  [[nodiscard]] sys::ProcReading reading() const override { return stats_.read(child_.identity().pid); }
  [[nodiscard]] std::uint64_t output_bytes() const override { return child_.log().bytes(); }
  [[nodiscard]] std::vector<std::string> last_lines() const override { return child_.log().lines(); }
  [[nodiscard]] std::string how_it_ended() const override { return child_.how_it_ended(); }
  [[nodiscard]] int pid() const override { return child_.identity().pid; }
  [[nodiscard]] const std::string& socket_path() const override { return socket_path_; }

 private:
  const sys::ProcStats& stats_;
  sys::Files& files_;
  StopLimits stop_;
  std::string socket_path_;
  std::string record_path_;
  Child child_;
};

// Ends a process that nobody will watch.
void discard(sys::Processes& processes, const sys::SpawnedProcess& process) {
  (void)processes.signal_group(process.identity.pid, SIGKILL);
  (void)processes.wait_ended(process.pidfd, std::chrono::seconds(1));
  (void)processes.reap(process.pidfd);
}

}  // namespace

base::Result<std::unique_ptr<EngineProcess>> LlamaStarter::start() {
  const auto base_path = fmt::format("{}/{:016x}-{}", parts_.folder, hash_of(spec_.alias), ++starts_);
  const auto socket_path = base_path + ".sock";
  auto launch = plan_launch(spec_, socket_path, parts_.environment);
  if (!launch) return base::pass(launch);
  if (auto made = parts_.files.ensure_directory(parts_.folder, 0700); !made) return base::pass(made);
  // The engine refuses a socket that exists.
  if (auto removed = parts_.files.remove(socket_path); !removed) return base::pass(removed);
  const auto argv0 = launch->argv.front();
  auto spawned = parts_.processes.spawn({std::move(launch->argv), std::move(launch->environment), "", {}});
  if (!spawned) return base::pass(spawned);
  const EngineRecord record{spawned->identity, argv0, socket_path};
  if (auto written = write_record(parts_.files, base_path + ".json", record); !written) {
    discard(parts_.processes, *spawned);
    return base::pass(written, "recording the engine");
  }
  return std::make_unique<LlamaProcess>(parts_, std::move(*spawned), base_path);
}

std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  for (char** entry = ::environ; *entry != nullptr; ++entry)
    environment.emplace_back(*entry);
  return environment;
}

}  // namespace hearth::engine
