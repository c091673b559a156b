#pragma once
// The commands that need the machine itself, for the command line (cli::LocalCommands).
#include "cli/cli.h"

namespace hearth::daemon {

[[nodiscard]] cli::LocalCommands local_commands();

}  // namespace hearth::daemon
