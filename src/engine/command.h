#pragma once
// Runs one short helper program (apt-get, dpkg-deb, `llama-server --version`) and waits for it. Blocking: for the
// command line's main thread or the blocking pool, never for an Asio thread. Engines themselves are not started here.
//
// No shell is involved: argv goes to exec as it is. The child gets its own process group, /dev/null as standard input,
// and no descriptor of ours but the one pipe that its standard output and error share.
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hearth::engine {

struct Command {
  // argv[0] is a path, or a bare name that is looked up in `search_path`.
  std::vector<std::string> argv;
  // PATH of the look-up and of the child. Empty: our own.
  std::string search_path;
  // Added to our own environment, or put in place of the variable of that name.
  std::vector<std::pair<std::string, std::string>> environment;
  // The whole group is killed when this has passed; what may not be killed (it runs as another user) is waited for and
  // counts. Empty: never, where dying half-way does harm (dpkg).
  std::optional<std::chrono::milliseconds> deadline = std::chrono::seconds(10);
  // Output beyond this is read and thrown away.
  std::size_t output_limit = 64 * 1024;
  // Killed by the kernel when the calling thread ends. Off for the same reason.
  bool die_with_caller = true;
  // Called with each whole line as it arrives, without its end; lines longer than 4 KiB come in pieces. May be empty.
  std::function<void(std::string_view line)> on_line;
};

struct CommandResult {
  int exit_status = 0;  // of a normal exit; 128 + N when killed by signal N
  std::string output;   // standard output and error as they came, at most output_limit bytes
  bool truncated = false;
};

// Errors: not_found (no such program: the message names it), timeout (killed; the message has its last line), io. That
// the program ran and failed is not an error here: see exit_status.
[[nodiscard]] base::Result<CommandResult> run_command(const Command& command);

// The same, and a non-zero exit status is an `io` error that carries the program's last line.
[[nodiscard]] base::Result<std::string> run_checked(const Command& command);

// The last line of a program's output that says something, cut to a length fit for an error sentence.
[[nodiscard]] std::string last_words(std::string_view output);

// The first executable regular file `name` in the folders of `search_path` (":"-separated); empty when there is none.
[[nodiscard]] std::string find_program(std::string_view name, std::string_view search_path);
// Our own PATH, or the system's usual one when it is unset.
[[nodiscard]] std::string own_search_path();

}  // namespace hearth::engine
