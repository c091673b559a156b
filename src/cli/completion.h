#pragma once
// Scripts that make a shell complete `hearth …`, out of the command tree. Pure.
#include <string>
#include <string_view>

#include "cli/command_line.h"

namespace hearth::cli {

// `shell` is "bash", "zsh" or "fish". Names of models are asked of the server when they are needed.
[[nodiscard]] std::string completion_script(const CommandDoc& root, std::string_view shell);

}  // namespace hearth::cli
