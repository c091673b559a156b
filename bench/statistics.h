#pragma once
// Medians and spread of small samples.
#include <algorithm>
#include <stdexcept>
#include <vector>

namespace hearth::bench {

struct Spread {
  double p25 = 0;
  double median = 0;
  double p75 = 0;
};

// Linear interpolation between the two nearest ranks. REQUIRES: values not empty.
[[nodiscard]] inline double quantile(std::vector<double> values, double q) {
  if (values.empty()) throw std::invalid_argument("quantile of nothing");
  std::ranges::sort(values);
  const double rank = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (rank - static_cast<double>(below)) * (values[above] - values[below]);
}

[[nodiscard]] inline Spread spread_of(const std::vector<double>& values) {
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

}  // namespace hearth::bench
