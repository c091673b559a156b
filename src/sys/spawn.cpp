// LinuxProcesses::spawn. fork and exec by hand, because posix_spawn can set neither the parent-death signal nor report
// it racing. Between fork and exec the child makes system calls only: another thread may have held any lock of the
// library.
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "sys/processes.h"
#include "sys/syscall.h"

namespace hearth::sys {
namespace {

// Everything the child needs, made before the fork.
struct ChildPlan {
  std::vector<char*> argv;
  std::vector<char*> environment;
  const char* working_directory = nullptr;
  const std::vector<InheritedFd>* inherited = nullptr;
  std::vector<int> moved;  // room for the inherited descriptors while they are out of the way
  int first_free_fd = 3;   // above every number that the child wants
  pid_t parent = 0;
  int null_fd = -1;
  int output_fd = -1;
  int report_fd = -1;
};

// What the child tells through the report pipe when it cannot become the program.
struct ChildFailure {
  enum class Step : int { parent_gone, descriptors, directory, exec } step;
  int error_number;
};

[[noreturn]] void give_up(int report_fd, ChildFailure::Step step) {
  const ChildFailure failure{step, errno};
  (void)!::write(report_fd, &failure, sizeof failure);
  ::_exit(127);
}

void reset_signals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number)
    (void)::sigaction(number, &standard, nullptr);  // KILL and STOP refuse
  sigset_t none;
  ::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Puts every descriptor to its number. All are first copied above the wanted numbers, so that none overwrites another.
bool place_descriptors(ChildPlan& plan) {
  const auto lift = [&](int fd) { return ::fcntl(fd, F_DUPFD, plan.first_free_fd); };
  plan.report_fd = ::fcntl(plan.report_fd, F_DUPFD_CLOEXEC, plan.first_free_fd);
  const int null_fd = lift(plan.null_fd);
  const int output_fd = lift(plan.output_fd);
  if (plan.report_fd < 0 || null_fd < 0 || output_fd < 0) return false;
  for (std::size_t i = 0; i < plan.moved.size(); ++i) {
    if ((plan.moved[i] = lift((*plan.inherited)[i].parent)) < 0) return false;
  }
  if (::dup2(null_fd, 0) < 0 || ::dup2(output_fd, 1) < 0 || ::dup2(output_fd, 2) < 0) return false;
  (void)::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);  // pre-5.11: all of ours are close-on-exec anyway
  for (const int fd : {null_fd, output_fd})
    ::close(fd);
  for (std::size_t i = 0; i < plan.moved.size(); ++i) {
    if (::dup2(plan.moved[i], (*plan.inherited)[i].child) < 0) return false;
    ::close(plan.moved[i]);
  }
  return true;
}

[[noreturn]] void become_the_program(ChildPlan& plan) {
  reset_signals();
  (void)::setpgid(0, 0);
  // The parent may have died before the request for its death signal: then nobody would send it.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != plan.parent) {
    give_up(plan.report_fd, ChildFailure::Step::parent_gone);
  }
  if (!place_descriptors(plan)) give_up(plan.report_fd, ChildFailure::Step::descriptors);
  if (plan.working_directory != nullptr && ::chdir(plan.working_directory) != 0) {
    give_up(plan.report_fd, ChildFailure::Step::directory);
  }
  ::execve(plan.argv[0], plan.argv.data(), plan.environment.data());
  give_up(plan.report_fd, ChildFailure::Step::exec);
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const auto& text : texts)
    pointers.push_back(const_cast<char*>(text.c_str()));  // execve does not write to them
  pointers.push_back(nullptr);
  return pointers;
}

struct Pipe {
  base::Fd read;
  base::Fd write;
};

base::Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::fail_errno("making a pipe", errno);
  return Pipe{base::Fd(ends[0]), base::Fd(ends[1])};
}

// Blocks every signal while it lives, so that no handler of ours runs in the child.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

base::Status check(const SpawnSpec& spec) {
  if (spec.argv.empty() || spec.argv.front().find('/') == std::string::npos) {
    return base::fail(base::ErrorCode::bad_request, "starting \"" +
                                                        (spec.argv.empty() ? std::string() : spec.argv.front()) +
                                                        "\": the program must be named by a path with a '/'");
  }
  std::vector<int> numbers;
  for (const auto& fd : spec.inherited)
    numbers.push_back(fd.child);
  std::ranges::sort(numbers);
  if (!numbers.empty() && (numbers.front() < 3 || std::ranges::adjacent_find(numbers) != numbers.end())) {
    return base::fail(base::ErrorCode::bad_request,
                      "starting " + spec.argv.front() + ": inherited descriptors need distinct numbers from 3 on");
  }
  return {};
}

std::string name_of(ChildFailure::Step step, const SpawnSpec& spec) {
  switch (step) {
    case ChildFailure::Step::parent_gone:
      return "tying " + spec.argv.front() + " to the life of this process";
    case ChildFailure::Step::descriptors:
      return "passing descriptors to " + spec.argv.front();
    case ChildFailure::Step::directory:
      return "entering " + spec.working_directory + " to start " + spec.argv.front();
    case ChildFailure::Step::exec:
      return "starting " + spec.argv.front();
  }
  return "starting " + spec.argv.front();
}

pid_t fork_child(ChildPlan& plan) {
  const SignalsBlocked blocked;
  const pid_t pid = ::fork();
  if (pid == 0) become_the_program(plan);
  return pid;
}

// Empty when the program runs (exec closed the pipe without a word).
std::optional<ChildFailure> await_exec(const base::Fd& report) {
  ChildFailure failure{};
  const auto count = retry_interrupted([&] { return ::read(report.get(), &failure, sizeof failure); });
  return count == static_cast<ssize_t>(sizeof failure) ? std::optional(failure) : std::nullopt;
}

void discard(pid_t child) {
  (void)::kill(child, SIGKILL);  // our own child, not yet reaped: the pid is still its own
  (void)retry_interrupted([&] { return ::waitpid(child, nullptr, 0); });
}

}  // namespace

base::Result<SpawnedProcess> LinuxProcesses::spawn(const SpawnSpec& spec) {
  if (auto fit = check(spec); !fit) return base::pass(fit);
  auto output = make_pipe();
  if (!output) return base::pass(output);
  auto report = make_pipe();
  if (!report) return base::pass(report);
  const base::Fd null_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null_fd) return base::fail_errno("opening /dev/null", errno);

  ChildPlan plan{.argv = pointers_to(spec.argv),
                 .environment = pointers_to(spec.environment),
                 .working_directory = spec.working_directory.empty() ? nullptr : spec.working_directory.c_str(),
                 .inherited = &spec.inherited,
                 .moved = std::vector<int>(spec.inherited.size(), -1),
                 .parent = ::getpid(),
                 .null_fd = null_fd.get(),
                 .output_fd = output->write.get(),
                 .report_fd = report->write.get()};
  for (const auto& fd : spec.inherited)
    plan.first_free_fd = std::max(plan.first_free_fd, fd.child + 1);

  const pid_t pid = fork_child(plan);
  if (pid < 0) return base::fail_errno("forking for " + spec.argv.front(), errno);
  output->write.reset();
  report->write.reset();
  if (const auto failure = await_exec(report->read)) {
    discard(pid);
    return base::fail_errno(name_of(failure->step, spec), failure->error_number);
  }
  auto pidfd = open(pid);
  auto identity = identity_of(pid);
  if (!pidfd || !identity) {
    discard(pid);
    return pidfd ? base::pass(identity, "starting " + spec.argv.front())
                 : base::pass(pidfd, "starting " + spec.argv.front());
  }
  return SpawnedProcess{std::move(*identity), std::move(*pidfd), std::move(output->read)};
}

}  // namespace hearth::sys
