#pragma once
// Server-sent events as a stream of bytes: finds where each event ends. Pure; any split of the bytes gives the same
// events. Source: WHATWG HTML, "Server-sent events"; llama-server ends every event with an empty line of "\n".
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace hearth::http {

class SseSplitter {
 public:
  // An event longer than this is handed out in pieces, as if each were an event: memory stays bounded.
  static constexpr std::size_t kLongestEvent = 8U << 20;

  // Calls sink(std::string_view event) for each event completed by `bytes`, its closing empty line included. The view
  // is valid during the call.
  template <typename Sink>
  void feed(std::string_view bytes, Sink&& sink);

  // What has come of an event that is not complete yet; empties it.
  [[nodiscard]] std::string take_rest() { return std::exchange(pending_, {}); }

 private:
  std::string pending_;
};

// The value of the event's first "data:" field, without the line end; empty when there is none.
[[nodiscard]] std::string_view data_of(std::string_view event);

template <typename Sink>
void SseSplitter::feed(std::string_view bytes, Sink&& sink) {
  // The boundary may begin in what is pending: look again from its last byte.
  std::size_t look_from = pending_.empty() ? 0 : pending_.size() - 1;
  pending_.append(bytes);
  std::size_t begin = 0;
  for (;;) {
    const auto end = pending_.find("\n\n", look_from);
    if (end == std::string::npos) break;
    sink(std::string_view(pending_).substr(begin, end + 2 - begin));
    begin = look_from = end + 2;
  }
  pending_.erase(0, begin);
  if (pending_.size() > kLongestEvent) sink(std::string_view(take_rest()));
}

}  // namespace hearth::http
