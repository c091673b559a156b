#pragma once
// Keeps the engine of one model: starts it when somebody needs it, watches it, restarts it with care, stops it.
//
// The start belongs to the supervisor. Whoever asks waits for it or attaches to the one under way; a caller that is
// cancelled leaves alone, and the start goes on.
//
// A start fails when the process ends, when nothing of it moves for `stall`, or after `hard_cap`; there is no fixed
// timeout, because a large model on a slow disk is slow and not broken. Failures hold the next start back (circuit.h).
//
// Thread: the I/O thread, which is the main thread (sys::Processes::spawn). Lifetime: shut_down() before it goes.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "domain/event.h"
#include "domain/model.h"
#include "domain/request.h"
#include "engine/circuit.h"
#include "engine/engine_process.h"
#include "engine/start_meter.h"
#include "rt/notice.h"
#include "rt/task_group.h"

namespace hearth::engine {

// How the supervisor lets time pass; a test's lets it pass at once.
class Pace {
 public:
  virtual ~Pace() = default;
  virtual rt::Task<void> pause(base::Duration duration) = 0;
};
class RealPace final : public Pace {
 public:
  rt::Task<void> pause(base::Duration duration) override;
};

struct SupervisorLimits {
  std::chrono::milliseconds stall = std::chrono::seconds(60);
  std::chrono::milliseconds hard_cap = std::chrono::minutes(30);
  // An engine that was ready for so long has proven itself, as one has that served a request.
  std::chrono::milliseconds proven_after = std::chrono::seconds(60);
  CircuitLimits circuit;
};

// Where a request may be sent.
struct Ready {
  std::string socket_path;
  int pid = 0;
  std::uint64_t generation = 0;                   // which start of this model it is, from 1
  std::optional<domain::StartObservation> start;  // only when this caller had to wait for it
};

class Supervisor {
 public:
  // What the supervisor uses; all outlive it. `starter` is its own.
  struct Parts {
    boost::asio::any_io_executor executor;
    std::unique_ptr<Starter> starter;
    const base::Clock& clock;
    Pace& pace;
    // process_delayed, process_started, process_ready, process_failed, process_stopped; what the preloaded library
    // tells (to_domain in tier_types.h); tier_missing, at ready, when it lacks a power;
    // tier_given_up, when the engine crashed with it while starting and is started once more as stock. id is left 0.
    // May be empty. Must not throw, nor call back into the supervisor.
    std::function<void(const domain::Event&)> on_event;
    rt::TaskGroup::CrashHandler on_crash;  // of programming errors
  };
  Supervisor(domain::ModelId model, Parts parts, SupervisorLimits limits);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Returns when the engine is ready, starting it where needed. Waits out a stop under way and the back-off after a
  // failure (at most 4 s). Cancel: the caller alone leaves.
  // Errors: engine_failed, with the engine's own words; the same at once with `retry_after` while the circuit is open;
  // cancelled when the caller, or the start, was told to stop.
  [[nodiscard]] rt::Task<base::Result<Ready>> ensure_ready();
  // A request was answered by the engine: earlier failures are forgiven.
  void note_served() { circuit_.proven(); }

  // Stops the engine, or the start under way (whose waiters get `cancelled`), and returns when it is gone. Close all
  // connections to it first. Errors: timeout when it would not die; it is then still watched.
  [[nodiscard]] rt::Task<base::Status> stop();
  // The same, for good: nothing is started afterwards, unless it would not die.
  [[nodiscard]] rt::Task<base::Status> shut_down();

  // Told whenever state() has become ready, or at rest (cold, failed). Must not call back into the supervisor.
  void on_settled(std::function<void()> handler) { on_settled_ = std::move(handler); }

  // How much nicer than this process its engine is, the one that runs and those to come. At first 0.
  void set_niceness(int niceness);
  [[nodiscard]] int niceness() const { return niceness_; }

  // cold, starting, ready, stopping or failed.
  [[nodiscard]] domain::ModelState state() const { return state_; }
  // Why it is failed; also while the start after a failure is under way.
  [[nodiscard]] const std::optional<domain::Failure>& failure() const { return failure_; }
  [[nodiscard]] std::optional<int> pid() const;
  [[nodiscard]] std::optional<base::Wall> process_started_at() const;
  // The line to the library in the engine that runs or starts. Null without one. Hold it while a command runs; it is
  // closed when that engine ends, and the next engine has another.
  [[nodiscard]] std::shared_ptr<TierLink> tier() const { return process_ ? process_->tier() : nullptr; }
  // Of the engine that runs, or of the last one.
  [[nodiscard]] std::vector<std::string> last_lines() const;
  // The last start that came to an end or is under way; empty before the first.
  [[nodiscard]] const std::optional<domain::StartObservation>& last_start() const { return observation_; }
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

  // Why the engine of this generation is gone, for a request that lost its connection: waits for at most so long for
  // the end to be known. Empty while it still runs, or when it was stopped on purpose.
  [[nodiscard]] rt::Task<std::optional<std::string>> exit_reason(std::uint64_t generation, base::Duration at_most);

 private:
  // Shared by the life that settles it and by the callers that wait for it, whichever ends last.
  struct Attempt {
    std::optional<base::Result<Ready>> result;
  };

  std::shared_ptr<Attempt> begin_attempt(std::optional<base::Mono> not_before);
  rt::Task<void> live(std::shared_ptr<Attempt> attempt, std::optional<base::Mono> not_before);
  rt::Task<bool> wait_until_allowed(std::optional<base::Mono> not_before);
  base::Status make_process();
  rt::Task<void> run_process();
  rt::Task<base::Status> wait_until_ready();
  void observe(StartMeter& meter);
  rt::Task<void> serve(Attempt& attempt);
  // Takes the process down, if there is one, and waits until it is gone.
  rt::Task<void> clear_process(Attempt& attempt);
  void settle(Attempt& attempt, base::Result<Ready> result);
  void fail_with(const std::string& reason);
  base::Error circuit_error(const Circuit::Verdict& verdict) const;
  base::Error stopped_error() const;
  std::string subject() const;
  void tell(const char* what, std::optional<std::string> why);
  void tell(domain::Event event);
  void follow_tier();
  [[nodiscard]] bool may_be_the_library();
  [[nodiscard]] rt::Task<base::Status> retry_as_stock(base::Error first);

  domain::ModelId model_;
  Parts parts_;
  SupervisorLimits limits_;
  Circuit circuit_;
  domain::ModelState state_ = domain::ModelState::cold;
  std::optional<domain::Failure> failure_;
  std::shared_ptr<Attempt> attempt_;  // while a start is under way
  std::unique_ptr<EngineProcess> process_;
  std::optional<domain::StartObservation> observation_;
  base::Wall process_started_at_;
  std::vector<std::string> last_lines_;
  std::uint64_t generation_ = 0;
  int niceness_ = 0;
  std::uint64_t failed_generation_ = 0;  // the last that ended by itself
  std::string exit_reason_;              // of that one
  std::function<void()> on_settled_;     // may be empty
  bool alive_ = false;                   // live() runs
  bool gone_ = false;                    // the process has ended and its run() has returned
  bool stop_asked_ = false;
  bool closed_ = false;
  bool stuck_ = false;  // killed, and still there
  rt::Notice changed_;
  rt::TaskGroup group_;
};

}  // namespace hearth::engine
