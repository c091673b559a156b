#include "cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <thread>

namespace hearth::cli {
namespace {

std::size_t columns_of(int descriptor) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

const char* raw_variable(const char* name) { return std::getenv(name); }

bool sleep_for(std::chrono::milliseconds span) {
  std::this_thread::sleep_for(span);
  return true;
}

}  // namespace

Console process_console(std::ostream& out, std::ostream& err, const base::Clock& clock) {
  Console console{std::cin, out, err, clock, variable, sleep_for};
  console.in_is_terminal = ::isatty(STDIN_FILENO) == 1;
  console.out_is_terminal = &out == &std::cout && ::isatty(STDOUT_FILENO) == 1;
  console.err_is_terminal = &err == &std::cerr && ::isatty(STDERR_FILENO) == 1;
  console.columns = console.out_is_terminal ? columns_of(STDOUT_FILENO) : 0;
  console.style = waterfall_style(console.out_is_terminal, console.columns, raw_variable);
  return console;
}

}  // namespace hearth::cli
