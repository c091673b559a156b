#include "engine/child.h"

#include <fcntl.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <csignal>

namespace hearth::engine {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto kDrainGrace = 1s;

int duplicate(const base::Fd& fd) { return ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3); }

}  // namespace

Child::Child(const asio::any_io_executor& executor, sys::Processes& processes, sys::SpawnedProcess process)
    : processes_(processes),
      identity_(std::move(process.identity)),
      pidfd_(std::move(process.pidfd)),
      exit_(executor, duplicate(pidfd_)),
      output_(executor, process.output.release()),
      changed_(executor) {}

Child::~Child() {
  if (!status_)
    (void)processes_.signal_group(identity_.pid, SIGKILL);  // nothing to tell: the daemon is being torn down
}

rt::Task<void> Child::run() {
  using namespace asio::experimental::awaitable_operators;
  co_await (drain() && await_exit());
  ended_ = true;
  changed_.notify_all();
}

rt::Task<void> Child::drain() {
  std::array<char, 4096> buffer;
  for (;;) {
    const auto [error, count] = co_await output_.async_read_some(asio::buffer(buffer), rt::kTuple);
    log_.feed({buffer.data(), count});
    if (error) break;
  }
  drained_ = true;
  changed_.notify_all();
}

rt::Task<void> Child::await_exit() {
  (void)co_await exit_.async_wait(asio::posix::stream_descriptor::wait_read, rt::kTuple);
  // Before the status is taken, while the pid cannot have been given to another: helpers of the engine end with it.
  (void)processes_.signal_group(identity_.pid, SIGKILL);
  const auto deadline = std::chrono::steady_clock::now() + kDrainGrace;
  bool waiting = true;  // GCC 12 evaluates `a && co_await b` whatever a is
  while (!drained_ && waiting)
    waiting = co_await changed_.wait_until(deadline);
  if (!drained_) output_.cancel();  // something outside the group holds our pipe
  if (const auto status = processes_.reap(pidfd_)) status_ = *status;
}

rt::Task<bool> Child::wait_ended(base::Mono deadline) {
  bool waiting = true;
  while (!ended_ && waiting)
    waiting = co_await changed_.wait_until(deadline);
  co_return ended_;
}

base::Status Child::signal(int signal_number) {
  if (signal_number == SIGKILL) killed_by_us_ = true;
  auto sent = processes_.signal(pidfd_, signal_number);
  if (!sent && sent.error().code == base::ErrorCode::not_found) return {};
  return sent;
}

base::Status Child::signal_group(int signal_number) {
  if (status_) return {};
  if (signal_number == SIGKILL) killed_by_us_ = true;
  auto sent = processes_.signal_group(identity_.pid, signal_number);
  if (!sent && sent.error().code == base::ErrorCode::not_found) return {};
  return sent;
}

bool Child::crashed() const {
  if (!status_ || !status_->signalled || killed_by_us_) return false;
  const int signal = status_->value;
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGILL || signal == SIGFPE;
}

std::string Child::how_it_ended() const {
  if (!status_) return "ended in a way that the system does not tell";
  auto words = sys::describe(*status_);
  if (status_->signalled && status_->value == SIGKILL && !killed_by_us_) words += ", perhaps because memory ran out";
  const auto line = telling_line(log_.lines());
  return line.empty() ? words : words + ": " + line;
}

}  // namespace hearth::engine
