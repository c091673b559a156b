#pragma once
// Child processes: made, known by identity, signalled, reaped.
//
// A pid is only a number that the kernel gives again; a process is its pidfd (while we hold one) or its pid together
// with the instant at which it started and the boot in which it did (for what outlives us, such as a record on disk).
//
// Thread: spawn() must be called from a thread that lives as long as the daemon, in practice the main thread: the
// parent-death signal fires when the *thread* that spawned ends (prctl(2), PR_SET_PDEATHSIG). All else: any thread.
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace hearth::sys {

// A descriptor of the parent that the child finds under the number `child` (3 or above, each number once).
struct InheritedFd {
  int parent = -1;
  int child = -1;
};

struct SpawnSpec {
  std::vector<std::string> argv;         // argv[0] is a path with a '/'; PATH is not searched
  std::vector<std::string> environment;  // "NAME=value", exactly these
  std::string working_directory;         // empty: the parent's
  std::vector<InheritedFd> inherited;
};

struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  // field 22 of /proc/PID/stat, clock ticks since boot
  std::string boot_id;            // /proc/sys/kernel/random/boot_id

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

struct SpawnedProcess {
  ProcessIdentity identity;
  base::Fd pidfd;   // becomes readable when the process has ended
  base::Fd output;  // read end of its stdout and stderr; ends when the last process that holds them has closed them
};

struct ExitStatus {
  bool signalled = false;  // killed by a signal
  int value = 0;           // the signal, or the exit status

  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

class Processes {
 public:
  virtual ~Processes() = default;

  // Starts a program in a process group of its own (the group's id is its pid), with stdin from /dev/null, stdout and
  // stderr to one pipe, no blocked signal, every disposition at its default, no descriptor but those asked for, and
  // SIGKILL as soon as the spawning thread ends. Blocks until the program runs or could not be run (exec has read its
  // first page). Errors: what exec said, naming the program (not_found, permission, unsupported for a foreign format as
  // io); bad_request for an empty argv or an argv[0] without '/'. After an error no process is left.
  [[nodiscard]] virtual base::Result<SpawnedProcess> spawn(const SpawnSpec& spec) = 0;

  // A pidfd of any process. Errors: not_found. Whose it is must be checked *after* it is open, with identity_of.
  [[nodiscard]] virtual base::Result<base::Fd> open(pid_t pid) const = 0;
  // Sends to exactly the process of this pidfd. Errors: not_found when it is gone (reaped), permission.
  [[nodiscard]] virtual base::Status signal(const base::Fd& pidfd, int signal_number) = 0;
  // Sends to every process of a child's group. REQUIRES: the child `leader` has not been reaped (its pid is then still
  // taken, so that no stranger can be hit). Errors: not_found when the group is empty, permission.
  [[nodiscard]] virtual base::Status signal_group(pid_t leader, int signal_number) = 0;
  // Whether the process of this pidfd has ended (reaped or not), waiting for it for at most so long.
  [[nodiscard]] virtual bool wait_ended(const base::Fd& pidfd, std::chrono::milliseconds at_most) const = 0;
  // Takes a child's exit status, once; empty while it runs. Errors: not_found when it is not ours or already taken.
  [[nodiscard]] virtual base::Result<std::optional<ExitStatus>> reap(const base::Fd& pidfd) = 0;

  // Makes every thread of a child this much nicer than this process is, 0 to 19; a thread that it makes later is as
  // nice as its maker. Less than before only where may_lower_niceness(). REQUIRES: the child has not been reaped.
  // Errors: not_found, permission.
  [[nodiscard]] virtual base::Status set_niceness(pid_t child, int niceness) = 0;
  // Whether a nice value may be lowered again: root, CAP_SYS_NICE, or a large enough RLIMIT_NICE. Tried.
  [[nodiscard]] virtual bool may_lower_niceness() const = 0;

  // Who has this pid now (a process that ended but is not reaped counts). Errors: not_found.
  [[nodiscard]] virtual base::Result<ProcessIdentity> identity_of(pid_t pid) const = 0;
  // Its command line as it stands now; empty for a process that ended and for kernel threads. Errors: not_found,
  // permission.
  [[nodiscard]] virtual base::Result<std::vector<std::string>> command_of(pid_t pid) const = 0;
};

class LinuxProcesses final : public Processes {
 public:
  [[nodiscard]] base::Result<SpawnedProcess> spawn(const SpawnSpec& spec) override;
  [[nodiscard]] base::Result<base::Fd> open(pid_t pid) const override;
  [[nodiscard]] base::Status signal(const base::Fd& pidfd, int signal_number) override;
  [[nodiscard]] base::Status signal_group(pid_t leader, int signal_number) override;
  [[nodiscard]] bool wait_ended(const base::Fd& pidfd, std::chrono::milliseconds at_most) const override;
  [[nodiscard]] base::Result<std::optional<ExitStatus>> reap(const base::Fd& pidfd) override;
  [[nodiscard]] base::Status set_niceness(pid_t child, int niceness) override;
  [[nodiscard]] bool may_lower_niceness() const override;
  [[nodiscard]] base::Result<ProcessIdentity> identity_of(pid_t pid) const override;
  [[nodiscard]] base::Result<std::vector<std::string>> command_of(pid_t pid) const override;
};

// "exited with status 1", "was killed by signal 9 (Killed)".
[[nodiscard]] std::string describe(const ExitStatus& status);

}  // namespace hearth::sys
