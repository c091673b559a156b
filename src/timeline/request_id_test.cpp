#include "timeline/request_id.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace hearth::timeline {
namespace {

base::Wall at_ms(std::int64_t ms) { return base::Wall{std::chrono::milliseconds(ms)}; }

class FixedClock final : public base::Clock {
 public:
  [[nodiscard]] base::Mono now() const override { return {}; }
  [[nodiscard]] base::Wall wall() const override { return at_ms(1'469'918'176'385); }
};

TEST(RequestId, WritesTimeThenRandomBits) {
  const IdRandom zero{};
  // The time part of the ULID specification's own example, 01ARYZ6S41….
  EXPECT_EQ(request_id(at_ms(1'469'918'176'385), zero), "01aryz6s410000000000000000");
  EXPECT_EQ(request_id(at_ms(0), {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
            "0000000000zzzzzzzzzzzzzzzz");
  EXPECT_EQ(request_id(at_ms(0), {0, 0, 0, 0, 1, 0x80, 0, 0, 0, 0}), "000000000000000001g0000000");
}

TEST(RequestId, SortsByTime) {
  const IdRandom high{0xff, 0xff, 0xff};
  EXPECT_LT(request_id(at_ms(1000), high), request_id(at_ms(1001), IdRandom{}));
  EXPECT_LT(request_id(at_ms((1LL << 40) - 1), high), request_id(at_ms(1LL << 40), IdRandom{}));
}

TEST(RequestId, OddInstantsStillGiveAName) {
  EXPECT_EQ(request_id(at_ms(-5), {}), "00000000000000000000000000");
  EXPECT_EQ(request_id(base::Wall::max(), {}).size(), 26U);
  EXPECT_GT(request_id(base::Wall::max(), {}), request_id(at_ms(1'700'000'000'000), {}));
}

TEST(RequestId, NamesAreSafeAndDistinct) {
  const FixedClock clock;
  const RequestIds ids(clock);
  std::set<std::string> seen;
  for (int i = 0; i < 2000; ++i)
    seen.insert(ids.next());
  EXPECT_EQ(seen.size(), 2000U);
  for (const auto& id : seen) {
    EXPECT_EQ(id.size(), 26U);
    EXPECT_TRUE(std::ranges::all_of(id, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); }));
  }
}

TEST(RequestId, TakesItsRandomBitsFromWhereItIsTold) {
  const FixedClock clock;
  const RequestIds ids(clock, [] { return IdRandom{0, 0, 0, 0, 31}; });
  EXPECT_EQ(ids.next(), "01aryz6s410000000z00000000");
}

}  // namespace
}  // namespace hearth::timeline
