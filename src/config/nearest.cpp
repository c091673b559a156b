#include "config/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace hearth::config {
namespace {

constexpr std::size_t kLongest = 64;  // names beyond this are nobody's typing error, and the table below is quadratic

// Optimal string alignment distance.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      auto& here = cost[i][j];
      if (i == 0 || j == 0) {
        here = i + j;
        continue;
      }
      here = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) here = std::min(here, cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.empty() || name.size() > kLongest) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t fewest = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const auto candidate : candidates) {
    const auto distance = edits(name, candidate);
    if (distance >= fewest) continue;
    fewest = distance;
    best = candidate;
  }
  return best;
}

std::string advice(std::string_view name, std::span<const std::string_view> allowed, std::string_view heading) {
  const auto near = nearest(name, allowed);
  const std::string question = near ? fmt::format(" did you mean \"{}\"?", *near) : std::string();
  return fmt::format(";{} {}: {}", question, heading, fmt::join(allowed, ", "));
}

}  // namespace hearth::config
