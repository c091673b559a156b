#pragma once
// A process table in memory that keeps the contract of Processes, pollable descriptors included. For tests; no product
// code includes it.
//
// Programs are registered by argv[0]; the test then makes a running process speak and end. Thread: any one at a time.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sys/processes.h"

namespace hearth::sys {

struct FakeProgram {
  std::string output;              // said at once
  std::optional<ExitStatus> ends;  // at once, with this
  bool ignores_term = false;
};

class FakeProcesses final : public Processes {
 public:
  void install(const std::string& path, FakeProgram program) { programs_[path] = std::move(program); }
  // The next spawn fails with this error.
  void fail_next_spawn(int error_number) { fail_next_ = error_number; }

  void say(pid_t pid, std::string_view text) { (void)!::write(table_.at(pid).output.get(), text.data(), text.size()); }
  void end(pid_t pid, ExitStatus status) {
    auto& process = table_.at(pid);
    if (process.ended) return;
    process.ended = status;
    process.output.reset();
    (void)!::write(process.life_write.get(), "x", 1);
  }
  // Whatever runs under a pid that Hearth did not start, for the reaper.
  ProcessIdentity add_stranger(pid_t pid, std::vector<std::string> command) {
    return start(pid, std::move(command)).identity;
  }

  [[nodiscard]] const std::vector<SpawnSpec>& spawned() const { return spawned_; }
  [[nodiscard]] const std::vector<std::pair<pid_t, int>>& signals() const { return signals_; }
  [[nodiscard]] bool running(pid_t pid) const {
    const auto found = table_.find(pid);
    return found != table_.end() && !found->second.ended;
  }
  [[nodiscard]] pid_t last_pid() const { return next_pid_ - 1; }

  [[nodiscard]] base::Result<SpawnedProcess> spawn(const SpawnSpec& spec) override {
    const auto program_path = spec.argv.empty() ? std::string() : spec.argv.front();
    if (program_path.find('/') == std::string::npos) {
      return base::fail(base::ErrorCode::bad_request,
                        "starting \"" + program_path + "\": the program must be named by a path");
    }
    if (const int error = std::exchange(fail_next_, 0)) return base::fail_errno("starting " + program_path, error);
    const auto program = programs_.find(program_path);
    if (program == programs_.end()) return base::fail_errno("starting " + program_path, ENOENT);
    spawned_.push_back(spec);
    const pid_t pid = next_pid_++;
    auto& process = start(pid, spec.argv);
    process.ours = true;
    process.ignores_term = program->second.ignores_term;
    SpawnedProcess result{process.identity, duplicate(process.life_read), std::move(process.output_read)};
    say(pid, program->second.output);
    if (program->second.ends) end(pid, *program->second.ends);
    return result;
  }

  [[nodiscard]] base::Result<base::Fd> open(pid_t pid) const override {
    const auto found = table_.find(pid);
    if (found == table_.end()) return base::fail(base::ErrorCode::not_found, "opening a process: there is none");
    return duplicate(found->second.life_read);
  }
  [[nodiscard]] base::Status signal(const base::Fd& pidfd, int signal_number) override {
    const auto pid = pid_of(pidfd);
    if (!pid) return base::fail(base::ErrorCode::not_found, "signalling a process: it is gone");
    deliver(*pid, signal_number);
    return {};
  }
  [[nodiscard]] base::Status signal_group(pid_t leader, int signal_number) override {
    if (!table_.contains(leader)) return base::fail(base::ErrorCode::not_found, "signalling a group: it is empty");
    deliver(leader, signal_number);
    return {};
  }
  [[nodiscard]] bool wait_ended(const base::Fd& pidfd, std::chrono::milliseconds) const override {
    pollfd poll_fd{pidfd.get(), POLLIN, 0};
    return ::poll(&poll_fd, 1, 0) > 0;
  }
  [[nodiscard]] base::Result<std::optional<ExitStatus>> reap(const base::Fd& pidfd) override {
    const auto pid = pid_of(pidfd);
    if (!pid || !table_.at(*pid).ours) {
      return base::fail(base::ErrorCode::not_found, "reaping a process: it is not a child of ours, or already reaped");
    }
    const auto status = table_.at(*pid).ended;
    if (status) table_.erase(*pid);
    return status;
  }
  [[nodiscard]] base::Status set_niceness(pid_t child, int) override {
    const auto found = table_.find(child);
    if (found == table_.end())
      return base::fail(base::ErrorCode::not_found, "setting a nice value: there is no process");
    return {};
  }
  [[nodiscard]] bool may_lower_niceness() const override { return true; }
  [[nodiscard]] base::Result<ProcessIdentity> identity_of(pid_t pid) const override {
    const auto found = table_.find(pid);
    if (found == table_.end()) return base::fail(base::ErrorCode::not_found, "looking at a process: there is none");
    return found->second.identity;
  }
  [[nodiscard]] base::Result<std::vector<std::string>> command_of(pid_t pid) const override {
    const auto found = table_.find(pid);
    if (found == table_.end()) return base::fail(base::ErrorCode::not_found, "looking at a process: there is none");
    return found->second.ended ? std::vector<std::string>{} : found->second.command;
  }

 private:
  struct Process {
    ProcessIdentity identity;
    std::vector<std::string> command;
    base::Fd life_read, life_write;  // readable once the process has ended
    base::Fd output_read, output;
    std::optional<ExitStatus> ended;
    bool ours = false;
    bool ignores_term = false;
  };

  static std::pair<base::Fd, base::Fd> make_pipe() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    return {base::Fd(ends[0]), base::Fd(ends[1])};
  }
  static base::Fd duplicate(const base::Fd& fd) { return base::Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3)); }
  static ino_t inode_of(const base::Fd& fd) {
    struct stat status {};
    return ::fstat(fd.get(), &status) == 0 ? status.st_ino : 0;
  }

  Process& start(pid_t pid, std::vector<std::string> command) {
    auto& process = table_[pid];
    process.identity = {pid, ++ticks_, "boot-1"};
    process.command = std::move(command);
    std::tie(process.life_read, process.life_write) = make_pipe();
    std::tie(process.output_read, process.output) = make_pipe();
    return process;
  }
  [[nodiscard]] std::optional<pid_t> pid_of(const base::Fd& pidfd) const {
    for (const auto& [pid, process] : table_) {
      if (inode_of(process.life_read) == inode_of(pidfd)) return pid;
    }
    return std::nullopt;
  }
  void deliver(pid_t pid, int signal_number) {
    signals_.emplace_back(pid, signal_number);
    const bool fatal = signal_number == SIGKILL || (signal_number == SIGTERM && !table_.at(pid).ignores_term);
    if (fatal) end(pid, {.signalled = true, .value = signal_number});
  }

  std::map<std::string, FakeProgram> programs_;
  std::map<pid_t, Process> table_;
  std::vector<SpawnSpec> spawned_;
  std::vector<std::pair<pid_t, int>> signals_;
  pid_t next_pid_ = 100'000;
  std::uint64_t ticks_ = 0;
  int fail_next_ = 0;
};

}  // namespace hearth::sys
