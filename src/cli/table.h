#pragma once
// Rows of text in columns that line up.
#include <string>
#include <string_view>
#include <vector>

namespace hearth::cli {

class Table {
 public:
  // A header that begins with '>' is set to the right, and so are its cells; the sign is not printed.
  explicit Table(std::vector<std::string> headers);
  // Cells that are missing are empty. Control characters in cells become '?'.
  void add(std::vector<std::string> cells);
  // Lines, each ended by a newline and without blanks at its end.
  [[nodiscard]] std::string text() const;
  // The length of the longest line.
  [[nodiscard]] std::size_t width() const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace hearth::cli
