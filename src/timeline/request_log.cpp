#include "timeline/request_log.h"

#include <algorithm>
#include <iterator>

namespace hearth::timeline {

void RequestLog::add(domain::RequestRecord record) {
  if (records_.size() >= capacity_) records_.pop_front();
  records_.push_back(std::move(record));
}

void RequestLog::add_before(std::vector<domain::RequestRecord> records) {
  while (!records.empty() && records_.size() < capacity_) {
    records_.push_front(std::move(records.back()));
    records.pop_back();
  }
}

std::optional<domain::RequestRecord> RequestLog::find(std::string_view id) const {
  const auto found =
      std::find_if(records_.rbegin(), records_.rend(), [id](const auto& record) { return record.id == id; });
  if (found == records_.rend()) return std::nullopt;
  return *found;
}

std::vector<domain::RequestRecord> RequestLog::last(std::size_t count) const {
  const auto many = static_cast<std::ptrdiff_t>(std::min(count, records_.size()));
  return {records_.rbegin(), std::next(records_.rbegin(), many)};
}

}  // namespace hearth::timeline
