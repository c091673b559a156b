#include "engine/supervisor.h"

#include <fmt/format.h>

#include "engine/tier_link.h"
#include "rt/deadline.h"

namespace hearth::engine {

using base::ErrorCode;
using domain::ModelState;
using namespace std::chrono_literals;

namespace {

constexpr auto kForever = base::Mono::max();
constexpr base::Duration kSampleEvery = 50ms;
constexpr base::Duration kLongestStop = 15s;  // the ladder's two waits, and room

// Often at first, where 10 ms matter; a start that takes long is not noticed 100 ms late.
base::Duration poll_interval(base::Duration since_start) {
  if (since_start < 10s) return 10ms;
  return since_start < 30s ? 20ms : 100ms;
}

std::string seconds(base::Duration duration) { return fmt::format("{:.3g} s", base::to_ms(duration) / 1000); }

}  // namespace

rt::Task<void> RealPace::pause(base::Duration duration) { (void)co_await rt::pause(duration); }

Supervisor::Supervisor(domain::ModelId model, Parts parts, SupervisorLimits limits)
    : model_(std::move(model)),
      parts_(std::move(parts)),
      limits_(std::move(limits)),
      circuit_(limits_.circuit),
      changed_(parts_.executor),
      group_(parts_.executor, parts_.on_crash) {}

Supervisor::~Supervisor() = default;

rt::Task<base::Result<Ready>> Supervisor::ensure_ready() {
  while (state_ == ModelState::stopping && !stuck_) {
    if (!co_await changed_.wait_until(kForever)) co_return std::unexpected(stopped_error());
  }
  if (closed_) co_return std::unexpected(stopped_error());
  if (stuck_) {
    co_return base::fail(ErrorCode::engine_failed,
                         subject() + " cannot start: its last process was killed and the kernel has not let go of it");
  }
  if (state_ == ModelState::ready) {
    // Named first: GCC 12 copies an aggregate made inside a co_return bit by bit.
    Ready ready{process_->socket_path(), process_->pid(), generation_, std::nullopt};
    co_return ready;
  }
  auto attempt = attempt_;
  if (!attempt) {
    const auto verdict = circuit_.ask(parts_.clock.now());
    if (verdict.open) co_return std::unexpected(circuit_error(verdict));
    attempt = begin_attempt(verdict.at);
  }
  while (!attempt->result) {
    if (!co_await changed_.wait_until(kForever)) co_return std::unexpected(stopped_error());
  }
  co_return *attempt->result;
}

std::shared_ptr<Supervisor::Attempt> Supervisor::begin_attempt(std::optional<base::Mono> not_before) {
  const auto attempt = std::make_shared<Attempt>();
  attempt_ = attempt;
  alive_ = true;
  stop_asked_ = false;
  state_ = ModelState::starting;
  group_.spawn(live(attempt, not_before));  // may have failed, and be over, when this returns
  return attempt;
}

rt::Task<void> Supervisor::live(std::shared_ptr<Attempt> attempt, std::optional<base::Mono> not_before) {
  auto outcome = base::Status{};
  const bool allowed = co_await wait_until_allowed(not_before);
  if (allowed) outcome = make_process();
  if (allowed && outcome) outcome = co_await wait_until_ready();
  if (process_ && !outcome && may_be_the_library()) outcome = co_await retry_as_stock(outcome.error());
  if (allowed && outcome && !stop_asked_)
    co_await serve(*attempt);
  else if (outcome && stop_asked_)
    state_ = ModelState::stopping;
  else if (!outcome)
    fail_with(outcome.error().message);
  co_await clear_process(*attempt);
  if (failure_ && !stop_asked_) {
    state_ = ModelState::failed;
    settle(*attempt, base::fail(ErrorCode::engine_failed, subject() + " " + failure_->reason));
  } else {
    state_ = ModelState::cold;
    settle(*attempt, std::unexpected(stopped_error()));
  }
  alive_ = false;
  changed_.notify_all();
  if (on_settled_) on_settled_();
}

bool Supervisor::may_be_the_library() {
  return gone_ && !stop_asked_ && process_->crashed() && parts_.starter->use_library(false);
}

// Once. Where the engine crashes without the library too, the library is not to blame and the first error counts.
rt::Task<base::Status> Supervisor::retry_as_stock(base::Error first) {
  tell("tier_given_up", "the engine " + first.message + "; it is started once more without the library");
  last_lines_ = process_->last_lines();
  process_.reset();
  auto outcome = make_process();
  if (outcome) outcome = co_await wait_until_ready();
  if (outcome || stop_asked_) co_return base::Status{};
  (void)parts_.starter->use_library(true);
  co_return std::unexpected(std::move(first));
}

rt::Task<bool> Supervisor::wait_until_allowed(std::optional<base::Mono> not_before) {
  const auto now = parts_.clock.now();
  if (not_before && now < *not_before) {
    tell("process_delayed", "it failed before and is started again in " + seconds(*not_before - now));
  }
  while (not_before && parts_.clock.now() < *not_before && !stop_asked_) {
    const base::Duration left = *not_before - parts_.clock.now();
    const base::Duration slice = std::min<base::Duration>(left, 20ms);
    co_await parts_.pace.pause(slice);
  }
  co_return !stop_asked_;
}

base::Status Supervisor::make_process() {
  observation_ = domain::StartObservation{.spawned = parts_.clock.now()};
  process_started_at_ = parts_.clock.wall();
  ++generation_;
  auto process = parts_.starter->start();
  if (!process) return base::fail(ErrorCode::engine_failed, "could not be started: " + process.error().message);
  process_ = std::move(*process);
  observation_->flags = process_->start_flags();
  gone_ = false;
  if (niceness_ != 0) process_->set_niceness(niceness_);
  follow_tier();
  group_.spawn(run_process());
  tell("process_started", std::nullopt);
  return {};
}

rt::Task<void> Supervisor::run_process() {
  co_await process_->run();
  gone_ = true;
  changed_.notify_all();
}

// Ends well when ready, or when told to stop.
rt::Task<base::Status> Supervisor::wait_until_ready() {
  const auto began = observation_->spawned;
  StartMeter meter(began);
  auto sampled = began;
  for (;;) {
    const auto health = co_await process_->health();
    const auto now = parts_.clock.now();
    if (health != Health::silent && !observation_->listening) observation_->listening = now;
    if (gone_) co_return base::fail(ErrorCode::engine_failed, process_->how_it_ended() + ", while starting");
    if (stop_asked_) co_return base::Status{};
    if (health == Health::ready) {
      observe(meter);
      observation_->ready = now;
      co_return base::Status{};
    }
    if (now - sampled >= kSampleEvery) {
      observe(meter);
      sampled = now;
    }
    if (meter.without_progress(now) >= limits_.stall) {
      co_return base::fail(ErrorCode::engine_failed, "was killed: while starting nothing of it moved for " +
                                                         seconds(meter.without_progress(now)));
    }
    if (now - began >= limits_.hard_cap) {
      co_return base::fail(ErrorCode::engine_failed, "was killed: it was not ready after " + seconds(now - began));
    }
    const auto interval = poll_interval(now - began);
    co_await parts_.pace.pause(interval);
  }
}

void Supervisor::observe(StartMeter& meter) {
  meter.feed(parts_.clock.now(), process_->reading(), process_->output_bytes());
  observation_->blocked_on_storage = meter.blocked_on_storage();
  observation_->bytes_read = meter.bytes_read();
  observation_->major_faults = meter.major_faults();
}

rt::Task<void> Supervisor::serve(Attempt& attempt) {
  const auto ready_at = *observation_->ready;
  state_ = ModelState::ready;
  failure_.reset();
  tell("process_ready", "ready in " + seconds(ready_at - observation_->spawned));
  if (auto lack = process_->tier_lack()) {
    domain::Event event;
    event.what = "tier_missing";
    event.layer = domain::Layer::weights;
    event.why = std::move(lack);
    tell(std::move(event));
  }
  settle(attempt, Ready{process_->socket_path(), process_->pid(), generation_, observation_});
  if (on_settled_) on_settled_();
  while (!gone_ && !stop_asked_)
    (void)co_await changed_.wait_until(kForever);
  if (parts_.clock.now() - ready_at >= limits_.proven_after) circuit_.proven();
  if (!stop_asked_)
    fail_with(process_->how_it_ended());
  else
    state_ = ModelState::stopping;
}

rt::Task<void> Supervisor::clear_process(Attempt& attempt) {
  if (!process_) co_return;
  if (!gone_) {
    stuck_ = !co_await process_->stop();
    if (stuck_) {
      state_ = ModelState::stopping;
      settle(attempt, base::fail(ErrorCode::engine_failed, subject() + " was killed and did not end"));
    }
    while (!gone_)
      (void)co_await changed_.wait_until(kForever);
    stuck_ = false;
    if (stop_asked_) tell("process_stopped", std::nullopt);
  }
  last_lines_ = process_->last_lines();
  process_.reset();
}

void Supervisor::settle(Attempt& attempt, base::Result<Ready> result) {
  if (attempt.result) return;
  attempt.result = std::move(result);
  attempt_.reset();
  changed_.notify_all();
}

void Supervisor::fail_with(const std::string& reason) {
  const auto now = parts_.clock.now();
  circuit_.failed(now);
  failed_generation_ = generation_;
  exit_reason_ = reason;
  failure_ = domain::Failure{.reason = reason, .at = parts_.clock.wall(), .retry_at = std::nullopt};
  if (const auto verdict = circuit_.ask(now); verdict.at) {
    failure_->retry_at = failure_->at + std::chrono::duration_cast<base::Wall::duration>(*verdict.at - now);
  }
  tell("process_failed", reason);
}

base::Error Supervisor::circuit_error(const Circuit::Verdict& verdict) const {
  const auto left = *verdict.at - parts_.clock.now();
  return {ErrorCode::engine_failed,
          fmt::format("{} failed {} times in a row, the last time it {}; it is tried again in {}", subject(),
                      circuit_.failures_in_a_row(), failure_ ? failure_->reason : "failed", seconds(left)),
          std::chrono::ceil<std::chrono::milliseconds>(left)};
}

base::Error Supervisor::stopped_error() const { return {ErrorCode::cancelled, subject() + " was told to stop"}; }

std::string Supervisor::subject() const { return "the engine of " + model_.text(); }

void Supervisor::tell(const char* what, std::optional<std::string> why) {
  domain::Event event;
  event.what = what;
  event.layer = domain::Layer::process;
  event.why = std::move(why);
  tell(std::move(event));
}

void Supervisor::tell(domain::Event event) {
  if (!parts_.on_event) return;
  event.at = parts_.clock.wall();
  event.model = model_.text();
  event.by = "engine";
  parts_.on_event(event);
}

// The process, and with it the reading of the line, ends before the supervisor does.
void Supervisor::follow_tier() {
  if (const auto link = process_->tier()) {
    link->on_event([this](const TierEvent& event) { tell(to_domain(event)); });
  }
}

rt::Task<base::Status> Supervisor::stop() {
  if (!alive_) co_return base::Status{};
  stop_asked_ = true;
  if (state_ == ModelState::ready) state_ = ModelState::stopping;
  changed_.notify_all();
  const auto deadline = std::chrono::steady_clock::now() + kLongestStop;
  while (alive_) {
    if (co_await changed_.wait_until(deadline)) continue;
    if (!alive_) break;
    if (std::chrono::steady_clock::now() < deadline)
      co_return std::unexpected(stopped_error());  // the caller was cancelled
    co_return base::fail(ErrorCode::timeout, subject() + " was killed and has not ended yet");
  }
  co_return base::Status{};
}

rt::Task<base::Status> Supervisor::shut_down() {
  closed_ = true;
  auto stopped = co_await stop();
  const base::Duration patience = 1s;  // its last steps
  if (stopped)
    (void)co_await group_.join(patience);
  else
    closed_ = false;
  co_return stopped;
}

void Supervisor::set_niceness(int niceness) {
  if (niceness == niceness_) return;
  niceness_ = niceness;
  if (process_) process_->set_niceness(niceness);
}

std::optional<int> Supervisor::pid() const { return process_ ? std::optional(process_->pid()) : std::nullopt; }

std::optional<base::Wall> Supervisor::process_started_at() const {
  return process_ ? std::optional(process_started_at_) : std::nullopt;
}

std::vector<std::string> Supervisor::last_lines() const { return process_ ? process_->last_lines() : last_lines_; }

rt::Task<std::optional<std::string>> Supervisor::exit_reason(std::uint64_t generation, base::Duration at_most) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (failed_generation_ < generation) {
    if (!co_await changed_.wait_until(deadline)) break;
  }
  // A later generation that failed has written over the reason of this one.
  if (failed_generation_ != generation) co_return std::nullopt;
  co_return exit_reason_;
}

}  // namespace hearth::engine
