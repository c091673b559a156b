#pragma once
// The last lines that an engine said, bounded in number and length, and fit to be shown: what it says is text from
// outside.
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::engine {

class LogTail {
 public:
  struct Limits {
    std::size_t lines = 64;
    std::size_t line_bytes = 512;  // longer lines are cut and marked
  };
  LogTail() : LogTail(Limits()) {}
  explicit LogTail(Limits limits) : limits_(limits) {}

  // Takes output as it comes, cut anywhere.
  void feed(std::string_view bytes);
  // Whole lines, oldest first, then what was said without an end of line. Valid UTF-8 without control characters.
  [[nodiscard]] std::vector<std::string> lines() const;
  // All bytes ever fed.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void append(std::string_view piece);
  void end_line();

  Limits limits_;
  std::deque<std::string> lines_;
  std::string open_;  // the line that has not ended, at most line_bytes + 1 of it
  std::uint64_t bytes_ = 0;
};

// Control characters and what is not UTF-8 become '?'.
[[nodiscard]] std::string to_showable(std::string_view text);

// The line that says best why an engine ended: the first error of the last few lines that names a cause, else the last
// line; without the time stamp in front. Empty when nothing was said. Knows llama-server's lines ("0.00.060.187 E tag
// func: text").
[[nodiscard]] std::string telling_line(const std::vector<std::string>& lines);

}  // namespace hearth::engine
