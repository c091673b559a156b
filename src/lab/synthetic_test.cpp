#include "lab/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace hearth::lab {
namespace {

TEST(Synthetic, IsTheSameForTheSameSeedAndAnotherForAnother) {
  for (const Shape shape : kAllShapes) {
    const auto once = make_synthetic({.shape = shape, .seed = 1, .days = 5});
    const auto again = make_synthetic({.shape = shape, .seed = 1, .days = 5});
    const auto other = make_synthetic({.shape = shape, .seed = 2, .days = 5});
    ASSERT_EQ(once.requests.size(), again.requests.size());
    EXPECT_TRUE(std::ranges::equal(once.requests, again.requests, [](const auto& left, const auto& right) {
      return left.at_ns == right.at_ns && left.model == right.model && left.prompt_tokens == right.prompt_tokens;
    }));
    EXPECT_FALSE(std::ranges::equal(once.requests, other.requests, {}, &TraceRequest::at_ns, &TraceRequest::at_ns));
    EXPECT_TRUE(std::ranges::is_sorted(once.requests, {}, &TraceRequest::at_ns));
  }
}

TEST(Synthetic, AHouseholdAsksInTheMorningAndTheEvening) {
  const auto trace = make_synthetic({.shape = Shape::household, .seed = 1, .days = 28});
  std::array<int, 24> by_hour{};
  std::set<std::uint32_t> used;
  for (const auto& request : trace.requests) {
    used.insert(request.model);
    const auto hour = request.at_ns / 3'600'000'000'000;
    const bool weekday = hour / 24 % 7 < 5;
    if (trace.models[request.model].service_class == domain::ServiceClass::voice && weekday)
      ++by_hour[static_cast<std::size_t>(hour % 24)];
  }
  EXPECT_EQ(used.size(), trace.models.size());
  EXPECT_GT(by_hour[7], 5 * by_hour[11]);
  EXPECT_GT(by_hour[18], 5 * by_hour[11]);
  EXPECT_EQ(by_hour[3], 0);
}

TEST(Synthetic, IntensityScalesHowOften) {
  const auto one = make_synthetic({.shape = Shape::popular, .seed = 1, .days = 14, .intensity = 1});
  const auto three = make_synthetic({.shape = Shape::popular, .seed = 1, .days = 14, .intensity = 3});
  const auto ratio = static_cast<double>(three.requests.size()) / static_cast<double>(one.requests.size());
  EXPECT_NEAR(ratio, 3, 0.6);
}

}  // namespace
}  // namespace hearth::lab
