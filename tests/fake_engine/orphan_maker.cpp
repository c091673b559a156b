// Starts argv[1…] as an engine is started, says its pid, and waits to be killed: for the test that its child dies with
// it.
#include <unistd.h>

#include <cstdio>

#include "sys/processes.h"

int main(int argc, char** argv) {
  hearth::sys::LinuxProcesses processes;
  const auto child = processes.spawn({.argv = std::vector<std::string>(argv + 1, argv + argc), .environment = {}});
  if (!child) return 1;
  std::printf("%d\n", child->identity.pid);
  std::fflush(stdout);
  for (;;)
    ::pause();
}
