#include "engine/llama_starter.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <csignal>

#include "base/text.h"
#include "engine/reaper.h"
#include "engine/tier_link.h"

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

// How one start stands with the library.
struct Tier {
  std::shared_ptr<TierLink> link;
  base::Fd theirs;                  // until the engine has it
  std::optional<std::string> lack;  // asked for, and not possible
};

class LlamaProcess final : public EngineProcess {
 public:
  LlamaProcess(const LlamaStarter::Parts& parts, sys::SpawnedProcess process, std::string base_path, Tier tier,
               std::string flags)
      : processes_(parts.processes),
        stats_(parts.stats),
        files_(parts.files),
        stop_(parts.stop),
        flags_(std::move(flags)),
        socket_path_(base_path + ".sock"),
        record_path_(base_path + ".json"),
        tier_(std::move(tier)),
        child_(parts.executor, parts.processes, std::move(process)) {}

  rt::Task<void> run() override {
    using namespace boost::asio::experimental::awaitable_operators;
    co_await (watch() && listen());
    // What cannot be removed now, the reaper removes at the next start of the server.
    (void)files_.remove(socket_path_);
    (void)files_.remove(record_path_);
  }
  rt::Task<Health> health() override { return ask_health(socket_path_, kHealthLimit); }
  rt::Task<bool> stop() override {
    const auto stopped = co_await stop_child(child_, stop_);
    co_return stopped != Stopped::stuck;
  }

  void set_niceness(int niceness) override {
    if (child_.ended()) return;
    if (const auto set = processes_.set_niceness(pid(), niceness); !set) spdlog::warn("{}", set.error().message);
  }
  [[nodiscard]] sys::ProcReading reading() const override { return stats_.read(child_.identity().pid); }
  [[nodiscard]] std::uint64_t output_bytes() const override { return child_.log().bytes(); }
  [[nodiscard]] std::vector<std::string> last_lines() const override { return child_.log().lines(); }
  [[nodiscard]] std::string how_it_ended() const override { return child_.how_it_ended(); }
  [[nodiscard]] bool crashed() const override { return child_.crashed(); }
  [[nodiscard]] std::optional<std::string> start_flags() const override {
    return flags_.empty() ? std::nullopt : std::optional(flags_);
  }
  [[nodiscard]] int pid() const override { return child_.identity().pid; }
  [[nodiscard]] const std::string& socket_path() const override { return socket_path_; }
  [[nodiscard]] std::shared_ptr<TierLink> tier() const override { return tier_.link; }
  [[nodiscard]] std::optional<std::string> tier_lack() const override {
    if (!tier_.link) return tier_.lack;
    if (!tier_.link->hello()) return tier_.link->why_missing(TierPower::kProbe);
    std::vector<std::string> lacks;
    for (unsigned i = 0; i < tier::kPowerCount; ++i) {
      auto why = tier_.link->why_missing(static_cast<TierPower>(i));
      if (!why.empty()) lacks.push_back(std::move(why));
    }
    return lacks.empty() ? std::nullopt : std::optional(base::join(lacks, "; "));
  }

 private:
  // A helper of the engine that was not in its group may hold the line open.
  rt::Task<void> watch() {
    co_await child_.run();
    if (tier_.link) tier_.link->close();
  }
  rt::Task<void> listen() {
    if (tier_.link) co_await tier_.link->run();
  }

  sys::Processes& processes_;
  const sys::ProcStats& stats_;
  sys::Files& files_;
  StopLimits stop_;
  std::string flags_;
  std::string socket_path_;
  std::string record_path_;
  Tier tier_;
  Child child_;
};

// The loader splits LD_PRELOAD at spaces and colons, and goes on without a library that it cannot load.
base::Status check_library(const sys::Files& files, const std::string& path) {
  if (!path.starts_with('/') || path.find_first_of(" :") != std::string::npos) {
    return base::fail(base::ErrorCode::bad_request, "the library's path " + base::printable(path, 256) +
                                                        " is not absolute or has a space or a colon");
  }
  const auto size = files.size(path);
  if (!size) return std::unexpected(size.error().in_context("the library cannot be preloaded"));
  return {};
}

Tier make_tier(const LaunchSpec& spec, const LlamaStarter::Parts& parts, bool given_up) {
  Tier tier;
  if (!spec.tier) return tier;
  if (given_up) {
    tier.lack = "the engine runs as stock: it crashed while starting with the library, and did not without it";
    return tier;
  }
  const auto usable = check_library(parts.files, spec.tier->library);
  auto pair = usable ? TierLink::make() : base::Result<TierPair>(std::unexpected(usable.error()));
  if (!pair) {
    tier.lack = "the engine runs as stock: " + pair.error().message;
    return tier;
  }
  tier.link = std::make_shared<TierLink>(parts.executor, std::move(pair->ours));
  tier.theirs = std::move(pair->theirs);
  return tier;
}

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
  auto tier = make_tier(spec_, parts_, given_up_);
  auto spec = spec_;
  if (!tier.link) spec.tier.reset();
  if (spec.tier && parts_.packed_room) spec.tier->quota = parts_.packed_room();
  auto launch = plan_launch(spec, socket_path, parts_.environment);
  if (!launch) return base::pass(launch);
  if (auto made = parts_.files.ensure_directory(parts_.folder, 0700); !made) return base::pass(made);
  // The engine refuses a socket that exists.
  if (auto removed = parts_.files.remove(socket_path); !removed) return base::pass(removed);
  const auto argv0 = launch->argv.front();
  sys::SpawnSpec child{std::move(launch->argv), std::move(launch->environment), "", {}};
  if (tier.link) child.inherited.push_back({.parent = tier.theirs.get(), .child = kTierFd});
  auto spawned = parts_.processes.spawn(child);
  if (!spawned) return base::pass(spawned);
  tier.theirs.reset();
  const EngineRecord record{spawned->identity, argv0, socket_path};
  if (auto written = write_record(parts_.files, base_path + ".json", record); !written) {
    discard(parts_.processes, *spawned);
    return base::pass(written, "recording the engine");
  }
  return std::make_unique<LlamaProcess>(parts_, std::move(*spawned), base_path, std::move(tier), spec_.tuned_why);
}

bool LlamaStarter::use_library(bool use) {
  const bool changes = spec_.tier.has_value() && given_up_ == use;
  given_up_ = !use;
  return changes;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  for (char** entry = ::environ; *entry != nullptr; ++entry)
    environment.emplace_back(*entry);
  return environment;
}

}  // namespace hearth::engine
