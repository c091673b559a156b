#pragma once
// Text from outside, made fit to be written to a terminal.
#include <string>
#include <string_view>

namespace hearth::cli {

// Without control characters (C0, DEL, C1) but newline and tab, so that no answer can move the cursor, rename the
// window or paste into the shell. `text` is UTF-8.
[[nodiscard]] std::string without_controls(std::string_view text);
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace hearth::cli
