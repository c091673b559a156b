#include "client/sse_reader.h"

#include <fmt/format.h>

#include <utility>

namespace hearth::client {

base::Result<bool> SseReader::feed(std::string_view piece, const Sink& sink) {
  for (const char c : piece) {
    const bool second_of_pair = std::exchange(after_cr_, c == '\r') && c == '\n';
    if (second_of_pair) continue;
    if (c != '\n' && c != '\r') {
      line_ += c;
      if (line_.size() > most_)
        return base::fail(base::ErrorCode::too_large,
                          fmt::format("the stream sent a line of more than {} bytes", most_));
      continue;
    }
    if (line_.empty()) {
      if (!dispatch(sink)) return false;
    } else if (auto taken = take_line(); !taken) {
      return base::pass(taken);
    }
  }
  return true;
}

base::Status SseReader::take_line() {
  const std::string line = std::exchange(line_, {});
  const std::string_view text = line;
  const auto colon = text.find(':');
  const std::string_view field = text.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_.name = value;
  if (field != "data") return {};
  if (has_data_) event_.data += '\n';
  has_data_ = true;
  event_.data += value;
  if (event_.data.size() <= most_) return {};
  return base::fail(base::ErrorCode::too_large, fmt::format("the stream sent an event of more than {} bytes", most_));
}

bool SseReader::dispatch(const Sink& sink) {
  const SseEvent event = std::exchange(event_, {});
  return !std::exchange(has_data_, false) || sink(event);
}

}  // namespace hearth::client
