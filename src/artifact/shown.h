#pragma once
// Text from a file that nobody vouches for, fit for a sentence, a log line or JSON: valid UTF-8 without control
// characters, at most `most` bytes (and "…" where it was cut, never inside a character); what is neither becomes '?'.
#include <cstddef>
#include <string>
#include <string_view>

namespace hearth::artifact {

[[nodiscard]] std::string shown(std::string_view text, std::size_t most);

}  // namespace hearth::artifact
