#pragma once
// The last requests, in memory; those of an earlier run come from the history. Thread: the I/O thread only.
// Answers are copies, good across suspension points.
#include <cstddef>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "domain/request.h"

namespace hearth::timeline {

class RequestLog {
 public:
  // Keeps `capacity` records, the oldest goes first. A record takes about 1.5 kB. REQUIRES: capacity > 0.
  explicit RequestLog(std::size_t capacity = 1000) : capacity_(capacity) {}

  void add(domain::RequestRecord record);
  // What is older than all that was added, oldest first; as many of the newest as there is room for.
  void add_before(std::vector<domain::RequestRecord> records);
  // The newest record of that id. `id` may be anything that a client sent.
  [[nodiscard]] std::optional<domain::RequestRecord> find(std::string_view id) const;
  // At most `count`, newest first.
  [[nodiscard]] std::vector<domain::RequestRecord> last(std::size_t count) const;
  [[nodiscard]] std::size_t size() const { return records_.size(); }

 private:
  std::size_t capacity_;
  std::deque<domain::RequestRecord> records_;  // newest at the back
};

}  // namespace hearth::timeline
