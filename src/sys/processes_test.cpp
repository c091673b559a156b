// One suite for both implementations, then what only real processes can show.
#include "sys/processes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "sys/fake_processes.h"
#include "sys/syscall.h"

namespace hearth::sys {
namespace {

using base::ErrorCode;
using namespace std::chrono_literals;

struct Program {
  std::string output;
  std::optional<int> exit_status;  // empty: runs until it is killed
};

class RealTable {
 public:
  LinuxProcesses& processes() { return processes_; }
  SpawnSpec make(const Program& program) {
    const std::string last = program.exit_status ? "exit " + std::to_string(*program.exit_status) : "exec sleep 1000";
    return {.argv = {"/bin/sh", "-c", "printf '" + program.output + "'; " + last},
            .environment = {"PATH=/usr/bin:/bin"}};
  }

 private:
  LinuxProcesses processes_;
};

class FakeTable {
 public:
  FakeProcesses& processes() { return processes_; }
  SpawnSpec make(const Program& program) {
    std::optional<ExitStatus> ends;
    if (program.exit_status) ends = ExitStatus{.signalled = false, .value = *program.exit_status};
    processes_.install("/bin/sh", {.output = program.output, .ends = ends});
    return {.argv = {"/bin/sh", "-c"}};
  }

 private:
  FakeProcesses processes_;
};

std::string read_all(const base::Fd& fd) {
  std::string text;
  char buffer[256];
  for (;;) {
    const auto count = retry_interrupted([&] { return ::read(fd.get(), buffer, sizeof buffer); });
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

template <typename Table>
class ProcessesContract : public testing::Test {
 protected:
  Processes& processes() { return table_.processes(); }
  SpawnedProcess start(const Program& program) { return std::move(processes().spawn(table_.make(program))).value(); }
  ExitStatus end_of(const SpawnedProcess& process) {
    EXPECT_TRUE(processes().wait_ended(process.pidfd, 10s));
    return processes().reap(process.pidfd).value().value();
  }
  Table table_;
};
using Tables = testing::Types<RealTable, FakeTable>;
TYPED_TEST_SUITE(ProcessesContract, Tables);

TYPED_TEST(ProcessesContract, OutputAndStatusComeBack) {
  const auto process = this->start({.output = "hello", .exit_status = 3});
  EXPECT_EQ(read_all(process.output), "hello");
  EXPECT_EQ(this->end_of(process), (ExitStatus{false, 3}));
}

TYPED_TEST(ProcessesContract, AProgramThatIsNotThereIsAnErrorNotAStatus) {
  auto spec = this->table_.make({.output = "", .exit_status = 0});
  spec.argv = {"/nowhere/engine"};
  const auto spawned = this->processes().spawn(spec);
  ASSERT_FALSE(spawned);
  EXPECT_EQ(spawned.error().code, ErrorCode::not_found);
  EXPECT_EQ(spawned.error().message, "starting /nowhere/engine: No such file or directory");
  spec.argv = {"sh"};
  EXPECT_EQ(this->processes().spawn(spec).error().code, ErrorCode::bad_request);
}

TYPED_TEST(ProcessesContract, ASignalKillsAndIsTold) {
  const auto process = this->start({.output = "", .exit_status = std::nullopt});
  EXPECT_EQ(this->processes().reap(process.pidfd).value(), std::nullopt);
  EXPECT_FALSE(this->processes().wait_ended(process.pidfd, 0ms));
  ASSERT_TRUE(this->processes().signal(process.pidfd, SIGTERM));
  EXPECT_EQ(this->end_of(process), (ExitStatus{true, SIGTERM}));
}

TYPED_TEST(ProcessesContract, TheGroupGetsItToo) {
  const auto process = this->start({.output = "", .exit_status = std::nullopt});
  ASSERT_TRUE(this->processes().signal_group(process.identity.pid, SIGKILL));
  EXPECT_EQ(this->end_of(process), (ExitStatus{true, SIGKILL}));
}

TYPED_TEST(ProcessesContract, IdentityHoldsUntilReaped) {
  const auto process = this->start({.output = "", .exit_status = 0});
  const auto pid = process.identity.pid;
  ASSERT_TRUE(this->processes().wait_ended(process.pidfd, 10s));
  EXPECT_EQ(this->processes().identity_of(pid), process.identity);
  EXPECT_TRUE(this->processes().command_of(pid).value().empty());
  ASSERT_TRUE(this->processes().reap(process.pidfd));
  EXPECT_EQ(this->processes().reap(process.pidfd).error().code, ErrorCode::not_found);
  EXPECT_EQ(this->processes().signal(process.pidfd, SIGTERM).error().code, ErrorCode::not_found);
  EXPECT_EQ(this->processes().identity_of(pid).error().code, ErrorCode::not_found);
  EXPECT_EQ(this->processes().open(pid).error().code, ErrorCode::not_found);
}

TYPED_TEST(ProcessesContract, ARunningCommandIsKnownByItsArguments) {
  const auto process = this->start({.output = "up", .exit_status = std::nullopt});
  EXPECT_FALSE(this->processes().command_of(process.identity.pid).value().empty());
  ASSERT_TRUE(this->processes().signal(process.pidfd, SIGKILL));
  this->end_of(process);
}

TYPED_TEST(ProcessesContract, ANiceValueGoesUpAndWhereAllowedDownAgain) {
  const auto process = this->start({.output = "", .exit_status = std::nullopt});
  const auto pid = process.identity.pid;
  EXPECT_TRUE(this->processes().set_niceness(pid, 0));
  EXPECT_TRUE(this->processes().set_niceness(pid, 10));
  EXPECT_TRUE(this->processes().set_niceness(pid, 19));
  const auto lowered = this->processes().set_niceness(pid, 0);
  EXPECT_EQ(lowered.has_value(), this->processes().may_lower_niceness());
  EXPECT_TRUE(lowered || lowered.error().code == ErrorCode::permission);
  ASSERT_TRUE(this->processes().signal(process.pidfd, SIGKILL));
  this->end_of(process);
  EXPECT_EQ(this->processes().set_niceness(pid, 0).error().code, ErrorCode::not_found);
}

class LinuxProcessesTest : public testing::Test {
 protected:
  std::string run(const std::string& script, SpawnSpec spec = {}) {
    spec.argv = {"/bin/sh", "-c", script};
    spec.environment.emplace_back("PATH=/usr/bin:/bin");
    const auto process = processes_.spawn(spec).value();
    auto text = read_all(process.output);
    EXPECT_TRUE(processes_.wait_ended(process.pidfd, 10s));
    EXPECT_TRUE(processes_.reap(process.pidfd));
    return text;
  }
  LinuxProcesses processes_;
};

TEST_F(LinuxProcessesTest, TheChildGetsExactlyTheEnvironmentAndFolder) {
  ASSERT_EQ(::setenv("HEARTH_TEST_SECRET", "1", 1), 0);
  SpawnSpec spec;
  spec.environment = {"ONLY=this"};
  spec.working_directory = "/usr";
  EXPECT_EQ(run("pwd; echo $ONLY; echo \"<$HEARTH_TEST_SECRET>\"", spec), "/usr\nthis\n<>\n");
}

TEST_F(LinuxProcessesTest, AFolderThatIsNotThereIsNamed) {
  SpawnSpec spec{.argv = {"/bin/true"}, .environment = {}, .working_directory = "/nowhere"};
  EXPECT_EQ(processes_.spawn(spec).error().message, "entering /nowhere to start /bin/true: No such file or directory");
}

TEST_F(LinuxProcessesTest, NoDescriptorLeaksAndTheInheritedOnesAreSwappedRight) {
  int one[2];
  int two[2];
  ASSERT_EQ(::pipe(one), 0);  // deliberately not close-on-exec
  ASSERT_EQ(::pipe(two), 0);
  SpawnSpec spec;
  // The numbers are crossed with the parent's own, so that a careless dup2 would overwrite one.
  spec.inherited = {{one[1], two[1]}, {two[1], one[1]}};
  const auto first = std::to_string(two[1]);
  const auto second = std::to_string(one[1]);
  const auto script = "echo one >&" + first + "; echo two >&" + second + "; for n in " + std::to_string(one[0]) + " " +
                      std::to_string(two[0]) + "; do test -e /proc/$$/fd/$n && echo leaked $n; done; echo looked";
  EXPECT_EQ(run(script, spec), "looked\n");
  ::close(one[1]);
  ::close(two[1]);
  EXPECT_EQ(read_all(base::Fd(one[0])), "one\n");
  EXPECT_EQ(read_all(base::Fd(two[0])), "two\n");
}

TEST_F(LinuxProcessesTest, BadDescriptorNumbersAreRefused) {
  SpawnSpec spec{.argv = {"/bin/true"}, .environment = {}, .working_directory = "", .inherited = {{0, 2}}};
  EXPECT_EQ(processes_.spawn(spec).error().code, ErrorCode::bad_request);
}

TEST_F(LinuxProcessesTest, SignalsAreUnblockedAndAtTheirDefault) {
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
  const auto old_handler = ::signal(SIGUSR2, SIG_IGN);
  const auto status = run("grep -E '^Sig(Blk|Ign)' /proc/self/status");
  ::signal(SIGUSR2, old_handler);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(status, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(LinuxProcessesTest, ItHasItsOwnGroupAndNoInput) {
  EXPECT_EQ(run("test $(cut -d' ' -f5 /proc/$$/stat) = $$ && echo own; read x || echo empty"), "own\nempty\n");
}

// The nice value of every thread, and of threads made later.
TEST_F(LinuxProcessesTest, EveryThreadIsAsNice) {
  SpawnSpec spec;
  spec.argv = {"/bin/sh", "-c", "read line <&7; nice"};
  spec.environment = {"PATH=/usr/bin:/bin"};
  int go[2];
  ASSERT_EQ(::pipe2(go, O_CLOEXEC), 0);
  const base::Fd write_end(go[1]);
  const base::Fd read_end(go[0]);
  spec.inherited = {{read_end.get(), 7}};
  const auto process = processes_.spawn(spec).value();
  ASSERT_TRUE(processes_.set_niceness(process.identity.pid, 7));
  ASSERT_EQ(::write(write_end.get(), "\n", 1), 1);
  EXPECT_EQ(read_all(process.output), std::to_string(7 + ::getpriority(PRIO_PROCESS, 0)) + "\n");
  EXPECT_TRUE(processes_.wait_ended(process.pidfd, 10s));
  EXPECT_TRUE(processes_.reap(process.pidfd));
}

TEST_F(LinuxProcessesTest, AForeignFormatIsTheKernelsWord) {
  char path[] = "/tmp/hearth-noexec-XXXXXX";
  const base::Fd fd(::mkstemp(path));
  ASSERT_EQ(::fchmod(fd.get(), 0700), 0);
  ASSERT_EQ(::write(fd.get(), "\1\2\3", 3), 3);
  SpawnSpec spec{.argv = {path}};
  EXPECT_FALSE(processes_.spawn(spec));
  ::unlink(path);
}

TEST(Describe, SaysHowItEnded) {
  EXPECT_EQ(describe({false, 1}), "exited with status 1");
  EXPECT_EQ(describe({true, 9}), "was killed by signal 9 (Killed)");
}

}  // namespace
}  // namespace hearth::sys
