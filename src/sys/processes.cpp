#include "sys/processes.h"

#include <poll.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/text.h"
#include "sys/files.h"
#include "sys/proc_text.h"
#include "sys/syscall.h"

namespace hearth::sys {
namespace {

constexpr base::Bytes kCommandLimit = 1 << 20;

std::string process_text(pid_t pid) { return "process " + std::to_string(pid); }

// The highest that there is.
constexpr int kNicest = 19;

int own_niceness() { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::getpid())); }

// Whether the thread had another. One that has ended has the one that was wanted.
base::Result<bool> set_thread_niceness(const std::string& thread, int niceness) {
  const auto id = static_cast<id_t>(std::strtoul(thread.c_str(), nullptr, 10));
  errno = 0;
  const int before = ::getpriority(PRIO_PROCESS, id);
  if (errno == ESRCH || before == niceness) return false;
  if (::setpriority(PRIO_PROCESS, id, niceness) == 0) return true;
  if (errno == ESRCH) return false;
  return base::fail_errno("setting the nice value of a thread", errno);
}

}  // namespace

base::Result<base::Fd> LinuxProcesses::open(pid_t pid) const {
  base::Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (fd) return fd;
  if (errno == ESRCH || errno == EINVAL) {
    return base::fail(base::ErrorCode::not_found, "opening " + process_text(pid) + ": there is none");
  }
  return base::fail_errno("opening " + process_text(pid), errno);
}

base::Status LinuxProcesses::signal(const base::Fd& pidfd, int signal_number) {
  if (::syscall(SYS_pidfd_send_signal, pidfd.get(), signal_number, nullptr, 0) == 0) return {};
  if (errno == ESRCH) return base::fail(base::ErrorCode::not_found, "signalling a process: it is gone");
  return base::fail_errno("signalling a process", errno);
}

base::Status LinuxProcesses::signal_group(pid_t leader, int signal_number) {
  if (::kill(-leader, signal_number) == 0) return {};
  const std::string what = "signalling the group of " + process_text(leader);
  if (errno == ESRCH) return base::fail(base::ErrorCode::not_found, what + ": it is empty");
  return base::fail_errno(what, errno);
}

bool LinuxProcesses::wait_ended(const base::Fd& pidfd, std::chrono::milliseconds at_most) const {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  pollfd poll_fd{pidfd.get(), POLLIN, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ready = ::poll(&poll_fd, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

base::Result<std::optional<ExitStatus>> LinuxProcesses::reap(const base::Fd& pidfd) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(pidfd.get());
  if (retry_interrupted([&] { return ::waitid(static_cast<idtype_t>(P_PIDFD), id, &info, WEXITED | WNOHANG); }) != 0) {
    if (errno == ECHILD) {
      return base::fail(base::ErrorCode::not_found, "reaping a process: it is not a child of ours, or already reaped");
    }
    return base::fail_errno("reaping a process", errno);
  }
  if (info.si_pid == 0) return std::nullopt;
  return ExitStatus{.signalled = info.si_code != CLD_EXITED, .value = info.si_status};
}

base::Status LinuxProcesses::set_niceness(pid_t child, int niceness) {
  constexpr int kPasses = 8;
  const int wanted = std::min(kNicest, own_niceness() + niceness);
  const LinuxFiles files;
  // A thread may have been made by one that had not changed yet.
  for (int pass = 0; pass < kPasses; ++pass) {
    auto threads = files.list("/proc/" + std::to_string(child) + "/task");
    if (!threads) return base::pass(threads, "setting the nice value of " + process_text(child));
    bool changed = false;
    for (const auto& thread : *threads) {
      auto one = set_thread_niceness(thread, wanted);
      if (!one) return base::pass(one, process_text(child));
      changed |= *one;
    }
    if (!changed) break;
  }
  return {};
}

bool LinuxProcesses::may_lower_niceness() const {
  bool may = false;
  // Of its own, as nothing else is to change.
  std::thread([&may] {
    const int own = ::getpriority(PRIO_PROCESS, 0);
    may = ::setpriority(PRIO_PROCESS, 0, std::min(kNicest, own + 1)) == 0 && ::setpriority(PRIO_PROCESS, 0, own) == 0;
  }).join();
  return may;
}

base::Result<ProcessIdentity> LinuxProcesses::identity_of(pid_t pid) const {
  const LinuxFiles files;
  const auto stat = files.read("/proc/" + std::to_string(pid) + "/stat", 4096);
  const auto fields = stat ? parse_stat(*stat) : std::nullopt;
  if (!fields) return base::fail(base::ErrorCode::not_found, "looking at " + process_text(pid) + ": there is none");
  auto boot = files.read("/proc/sys/kernel/random/boot_id", 128);
  if (!boot) return base::pass(boot, "looking at " + process_text(pid));
  return ProcessIdentity{pid, fields->start_ticks, std::string(base::trim(*boot))};
}

base::Result<std::vector<std::string>> LinuxProcesses::command_of(pid_t pid) const {
  auto text = LinuxFiles().read("/proc/" + std::to_string(pid) + "/cmdline", kCommandLimit);
  if (!text) return base::pass(text, "looking at " + process_text(pid));
  std::vector<std::string> command;
  if (text->empty()) return command;
  const std::string_view ended = text->back() == '\0' ? std::string_view(*text).substr(0, text->size() - 1) : *text;
  for (const auto part : base::split(ended, '\0'))
    command.emplace_back(part);
  return command;
}

std::string describe(const ExitStatus& status) {
  if (!status.signalled) return "exited with status " + std::to_string(status.value);
  const char* name = ::sigdescr_np(status.value);
  return "was killed by signal " + std::to_string(status.value) + (name ? " (" + std::string(name) + ")" : "");
}

}  // namespace hearth::sys
