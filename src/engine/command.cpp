#include "engine/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"

namespace hearth::engine {
namespace {

using base::ErrorCode;

constexpr std::size_t kLongestLine = 4096;

// Splits what arrives into lines for Command::on_line and keeps the bounded copy.
class OutputSink {
 public:
  OutputSink(const Command& command, CommandResult& result) : command_(command), result_(result) {}

  void take(std::string_view bytes) {
    const std::size_t room = command_.output_limit - result_.output.size();
    result_.output.append(bytes.substr(0, room));
    result_.truncated = result_.truncated || bytes.size() > room;
    if (!command_.on_line) return;
    for (const char c : bytes) {
      if (c == '\n' || line_.size() == kLongestLine) flush();
      if (c != '\n') line_.push_back(c);
    }
  }

  void flush() {
    if (command_.on_line && !line_.empty()) command_.on_line(line_);
    line_.clear();
  }

 private:
  const Command& command_;
  CommandResult& result_;
  std::string line_;
};

std::vector<std::string> environment_of(const Command& command) {
  std::vector<std::pair<std::string, std::string>> changes = command.environment;
  if (!command.search_path.empty()) changes.emplace_back("PATH", command.search_path);
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (std::ranges::none_of(changes, [name](const auto& change) { return change.first == name; }))
      result.emplace_back(text);
  }
  for (const auto& [name, value] : changes)
    result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& text : strings)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// What happens in the child between fork and exec: async-signal-safe calls only. `report` tells the parent why exec
// failed.
[[noreturn]] void become(const char* program, char* const* argv, char* const* env, int output, int report, pid_t parent,
                         bool die_with_caller) {
  ::setpgid(0, 0);
  if (die_with_caller) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
  }
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::close_range(3, static_cast<unsigned>(report) - 1, 0);
  ::close_range(static_cast<unsigned>(report) + 1, ~0U, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(program, argv, env);
  const int reason = errno;
  [[maybe_unused]] const auto told = ::write(report, &reason, sizeof reason);
  ::_exit(127);
}

struct Pipe {
  base::Fd read;
  base::Fd write;
};

base::Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail_errno("making a pipe", errno);
  return Pipe{.read = base::Fd(ends[0]), .write = base::Fd(ends[1])};
}

// A child of ours that has not been waited for; killed with its group when it goes out of scope before it has ended.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    kill_group();
    static_cast<void>(wait());
  }

  // False when it may not be.
  bool kill_group() const { return ::kill(-pid_, SIGKILL) == 0; }

  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

int remaining_ms(base::Mono until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - base::SystemClock().now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

// False when the deadline passed first.
base::Result<bool> read_all(int fd, base::Mono until, OutputSink& sink) {
  std::array<char, 16384> buffer{};
  while (true) {
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, remaining_ms(until));
    if (ready < 0 && errno != EINTR) return base::fail_errno("waiting for a program's output", errno);
    const ssize_t got = ready > 0 ? ::read(fd, buffer.data(), buffer.size()) : -1;
    if (ready > 0 && got < 0 && errno != EINTR) return base::fail_errno("reading a program's output", errno);
    if (got == 0) return true;
    if (got > 0) sink.take({buffer.data(), static_cast<std::size_t>(got)});
    if (base::SystemClock().now() >= until) return false;
  }
}

std::string resolve(const Command& command) {
  const std::string& name = command.argv.front();
  if (name.find('/') != std::string::npos) return name;
  return find_program(name, command.search_path.empty() ? own_search_path() : command.search_path);
}

// Waits until exec has happened (the pipe closes) or says why it did not.
base::Status exec_outcome(int report, std::string_view program) {
  int reason = 0;
  ssize_t got = 0;
  do {
    got = ::read(report, &reason, sizeof reason);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof reason) return std::unexpected(base::error_from_errno(fmt::format("starting {}", program), reason));
  return {};
}

}  // namespace

base::Result<CommandResult> run_command(const Command& command) {
  const std::string program = resolve(command);
  if (program.empty())
    return base::fail(ErrorCode::not_found, fmt::format("{} is not installed", command.argv.front()));
  auto output = make_pipe();
  auto report = make_pipe();
  if (!output) return base::pass(output);
  if (!report) return base::pass(report);

  std::vector<std::string> arguments = command.argv;
  std::vector<std::string> environment = environment_of(command);
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> env = pointers_to(environment);
  const base::Mono until = command.deadline ? base::SystemClock().now() + *command.deadline : base::Mono::max();
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return base::fail_errno(fmt::format("starting {}", program), errno);
  if (pid == 0) {
    become(program.c_str(), argv.data(), env.data(), output->write.get(), report->write.get(), parent,
           command.die_with_caller);
  }
  Child child(pid);
  output->write.reset();
  report->write.reset();
  if (auto started = exec_outcome(report->read.get(), program); !started) return base::pass(started);

  CommandResult result;
  OutputSink sink(command, result);
  auto ended = read_all(output->read.get(), until, sink);
  if (ended && !*ended && !child.kill_group()) ended = read_all(output->read.get(), base::Mono::max(), sink);
  sink.flush();
  if (!ended) return base::pass(ended);
  if (!*ended) {
    return base::fail(ErrorCode::timeout,
                      fmt::format("{} did not end within {} s; its last words: {}", command.argv.front(),
                                  static_cast<double>(command.deadline->count()) / 1000, last_words(result.output)));
  }
  result.exit_status = child.wait();
  return result;
}

base::Result<std::string> run_checked(const Command& command) {
  auto result = run_command(command);
  if (!result) return base::pass(result);
  if (result->exit_status != 0) {
    return base::fail(ErrorCode::io, fmt::format("{} failed with status {}: {}", command.argv.front(),
                                                 result->exit_status, last_words(result->output)));
  }
  return std::move(result->output);
}

std::string last_words(std::string_view output) {
  std::string_view last = "(it said nothing)";
  for (const std::string_view line : base::split(output, '\n')) {
    if (const auto text = base::trim(line); !text.empty()) last = text;
  }
  return base::printable(last, 300);
}

std::string find_program(std::string_view name, std::string_view search_path) {
  for (const std::string_view folder : base::split(search_path, ':')) {
    if (folder.empty()) continue;
    std::string candidate = fmt::format("{}/{}", folder, name);
    struct stat info {};
    const bool regular = ::stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode);
    if (regular && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

std::string own_search_path() {
  const char* path = std::getenv("PATH");
  return path != nullptr && *path != '\0' ? path : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
}

}  // namespace hearth::engine
