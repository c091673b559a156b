#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "tests/fake_engine/server.h"

namespace {

// A child that holds our output open, as a helper of an engine might.
void leave_a_child() {
  if (::fork() != 0) return;
  for (;;)
    ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hearth::fake_engine;
  std::signal(SIGPIPE, SIG_IGN);
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::cout << "version: 0.7.0 (build 11669, a fake)\n";
    return 0;
  }
  const auto flags = read_flags(argc, argv);
  const char* const log = std::getenv("FAKE_ENGINE_LOG");
  Journal journal(flags.log.empty() && log ? log : flags.log);
  auto scenario = read_scenario(flags.scenario);
  auto arguments = Json::array();
  for (int i = 0; i < argc; ++i)
    arguments.push_back(argv[i]);
  journal.write("start", {{"argv", arguments}});
  if (!scenario.log_lines.empty()) std::cerr << scenario.log_lines << std::endl;
  if (scenario.fork_child) leave_a_child();
  return Server(flags, std::move(scenario), std::move(journal)).run();
}
