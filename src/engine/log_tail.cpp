#include "engine/log_tail.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace hearth::engine {
namespace {

// Length of the UTF-8 sequence at the beginning of `text`; 0 when there is none (RFC 3629).
std::size_t sequence_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  if (!std::ranges::all_of(text.substr(1, length - 1), continues)) return 0;
  const auto second = static_cast<unsigned char>(length > 1 ? text[1] : 0);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool beyond = (lead == 0xED && second >= 0xA0) || (lead == 0xF4 && second >= 0x90);
  return overlong || beyond ? 0 : length;
}

// "0.00.060.187 E rest" -> ('E', "rest"); level 0 for lines of another form.
struct LogLine {
  char level = 0;
  std::string_view text;
};
LogLine parse_line(std::string_view line) {
  const auto space = line.find(' ');
  const bool stamped = space != std::string_view::npos && space > 0 && space + 2 < line.size() &&
                       line[space + 2] == ' ' &&
                       line.substr(0, space).find_first_not_of("0123456789.") == std::string_view::npos;
  if (!stamped) return {0, base::trim(line)};
  return {line[space + 1], base::trim(line.substr(space + 3))};
}

// Errors that only announce another, or that the engine lives with.
bool names_no_cause(std::string_view text) {
  constexpr std::array<std::string_view, 3> kPhrases = {"exiting due to", "trying to fit params",
                                                        "cleaning up before exit"};
  return std::ranges::any_of(kPhrases, [&](auto phrase) { return text.find(phrase) != std::string_view::npos; });
}

bool is_error(const LogLine& line) { return line.level == 'E' || (line.level == 0 && line.text.starts_with("error")); }

}  // namespace

std::string to_showable(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const auto length = sequence_length(text);
    const auto lead = static_cast<unsigned char>(text[0]);
    if (length == 0 || lead < 0x20 || lead == 0x7F)
      clean += lead == '\t' ? ' ' : '?';
    else
      clean += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return clean;
}

void LogTail::feed(std::string_view bytes) {
  bytes_ += bytes.size();
  for (;;) {
    const auto end = bytes.find('\n');
    append(bytes.substr(0, end));
    if (end == std::string_view::npos) return;
    end_line();
    bytes.remove_prefix(end + 1);
  }
}

void LogTail::append(std::string_view piece) {
  const auto room = limits_.line_bytes + 1 - std::min(open_.size(), limits_.line_bytes + 1);
  open_ += piece.substr(0, room);
}

void LogTail::end_line() {
  if (open_.ends_with('\r')) open_.pop_back();
  if (!open_.empty()) lines_.push_back(std::move(open_));
  open_.clear();
  if (lines_.size() > limits_.lines) lines_.pop_front();
}

std::vector<std::string> LogTail::lines() const {
  std::vector<std::string> shown;
  const auto show = [&](const std::string& line) {
    const bool cut = line.size() > limits_.line_bytes;
    shown.push_back(to_showable(std::string_view(line).substr(0, limits_.line_bytes)) + (cut ? "…" : ""));
  };
  for (const auto& line : lines_)
    show(line);
  if (!open_.empty()) show(open_);
  return shown;
}

std::string telling_line(const std::vector<std::string>& lines) {
  // Older errors belong to requests long answered.
  constexpr std::size_t kLookBack = 16;
  for (auto at = lines.size() - std::min(lines.size(), kLookBack); at < lines.size(); ++at) {
    const auto parsed = parse_line(lines[at]);
    if (is_error(parsed) && !names_no_cause(parsed.text)) return std::string(parsed.text);
  }
  return lines.empty() ? std::string() : std::string(parse_line(lines.back()).text);
}

}  // namespace hearth::engine
