#pragma once
// Server-sent events out of pieces of any size (WHATWG HTML, section 9.2.6). Comments, ids and retry times are passed
// over.
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::client {

struct SseEvent {
  std::string name;  // "" where the stream gives none
  std::string data;
};

class SseReader {
 public:
  // Returns false to stop reading.
  using Sink = std::function<bool(const SseEvent&)>;

  // `most` bounds each line and each event, in bytes.
  explicit SseReader(std::size_t most) : most_(most) {}
  // Hands every event that is complete to `sink`; false when the sink said stop. Errors: too_large.
  [[nodiscard]] base::Result<bool> feed(std::string_view piece, const Sink& sink);

 private:
  base::Status take_line();
  bool dispatch(const Sink& sink);

  std::size_t most_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool after_cr_ = false;
};

}  // namespace hearth::client
