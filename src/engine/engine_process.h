#pragma once
// What the supervisor needs of an engine process, and of whoever makes one. The seam behind which its tests stand.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/health.h"
#include "rt/asio.h"
#include "sys/proc_stats.h"

namespace hearth::engine {

class TierLink;

// Thread: the I/O thread. It may go only after run() has returned.
class EngineProcess {
 public:
  virtual ~EngineProcess() = default;

  // Once, as a task; returns when the process has ended and everything of it is cleared away. Never cancelled.
  [[nodiscard]] virtual rt::Task<void> run() = 0;
  // One question, bounded in time.
  [[nodiscard]] virtual rt::Task<Health> health() = 0;
  [[nodiscard]] virtual sys::ProcReading reading() const = 0;
  // All bytes that it has said.
  [[nodiscard]] virtual std::uint64_t output_bytes() const = 0;
  [[nodiscard]] virtual std::vector<std::string> last_lines() const = 0;
  // One clause without a subject: "exited with status 1: failed to load model". REQUIRES: run() has returned.
  [[nodiscard]] virtual std::string how_it_ended() const = 0;
  // True when it ended by a fault of its own (a bad access, an abort), not by being killed. REQUIRES: run() has
  // returned.
  [[nodiscard]] virtual bool crashed() const { return false; }
  // The stop ladder; true when it has ended, false when even killing did not end it in time.
  [[nodiscard]] virtual rt::Task<bool> stop() = 0;

  // How much nicer than this process its threads are (sys::Processes::set_niceness). Errors are logged.
  virtual void set_niceness(int) {}

  [[nodiscard]] virtual int pid() const = 0;
  [[nodiscard]] virtual const std::string& socket_path() const = 0;

  // The line to the library preloaded into it (tier_link.h). Null: a stock engine. It may outlive the process, closed.
  [[nodiscard]] virtual std::shared_ptr<TierLink> tier() const { return nullptr; }
  // What the library was asked for and cannot do, and why; judged once the engine answers. Empty: nothing, or not asked
  // for.
  [[nodiscard]] virtual std::optional<std::string> tier_lack() const { return std::nullopt; }
  // What was added to its flags to make its start shorter, and why. Empty: nothing.
  [[nodiscard]] virtual std::optional<std::string> start_flags() const { return std::nullopt; }
};

class Starter {
 public:
  virtual ~Starter() = default;
  // Makes a process. Blocks for the milliseconds that fork and exec take. Main thread only (sys::Processes::spawn).
  [[nodiscard]] virtual base::Result<std::unique_ptr<EngineProcess>> start() = 0;
  // From now on with or without the preloaded library, if it was wanted at all. False when that changes nothing.
  [[nodiscard]] virtual bool use_library(bool) { return false; }
};

}  // namespace hearth::engine
