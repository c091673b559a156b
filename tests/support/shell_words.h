#pragma once
// The words of a command as a shell splits them, without its expansions: as Python's shlex.join wrote them.
#include <string>
#include <string_view>
#include <vector>

namespace hearth::test {

inline std::vector<std::string> shell_words(std::string_view text) {
  std::vector<std::string> words;
  char quote = 0;
  bool inside = false;  // a word, even an empty one
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    const bool quoting = (c == '\'' || c == '"') && (quote == 0 || quote == c);
    if (quote == 0 && c == ' ') {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (quoting) {
      quote = quote == 0 ? c : '\0';
      continue;
    }
    if (quote != '\'' && c == '\\' && i + 1 < text.size()) c = text[++i];
    words.back() += c;
  }
  return words;
}

}  // namespace hearth::test
