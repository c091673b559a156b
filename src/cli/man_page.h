#pragma once
// The manual page hearth(1), out of the command tree, as troff source (man(7) macros). Pure.
#include <string>

#include "cli/command_line.h"

namespace hearth::cli {

[[nodiscard]] std::string man_page(const CommandDoc& root);

}  // namespace hearth::cli
