#include "lab/tally.h"

#include <algorithm>
#include <cmath>

namespace hearth::lab {
namespace {

double percentile(std::vector<float>& values, double share) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::ranges::nth_element(values, nth);
  return *nth;
}

}  // namespace

void Tally::asked(domain::ServiceClass service_class) {
  ++result_.requests;
  ++result_.by_class[policy::index_of(service_class)].requests;
}

void Tally::served(const Served& one) {
  const std::size_t which = policy::index_of(one.service_class);
  ttft_[which].push_back(static_cast<float>(one.ttft_s));
  if (!one.cold) return;
  ClassResult& mine = result_.by_class[which];
  ++result_.cold_starts;
  ++mine.cold_starts;
  result_.cold_start_s += one.load_s;
  mine.cold_start_s += one.load_s;
  result_.queued_s += one.queued_s;
  mine.queued_s += one.queued_s;
}

ReplayResult Tally::finish() {
  for (std::size_t which = 0; which < ttft_.size(); ++which) {
    result_.by_class[which].ttft_p50_s = percentile(ttft_[which], 0.50);
    result_.by_class[which].ttft_p95_s = percentile(ttft_[which], 0.95);
    result_.by_class[which].ttft_p99_s = percentile(ttft_[which], 0.99);
  }
  return std::move(result_);
}

}  // namespace hearth::lab
