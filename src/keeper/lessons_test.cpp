#include "keeper/lessons.h"

#include <gmock/gmock.h>

#include "keeper/demands.h"
#include "keeper/resident.h"
#include "sys/fake_machine.h"
#include "tests/support/manual_clock.h"

namespace hearth::keeper {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;

class LessonsTest : public testing::Test {
 protected:
  static domain::ModelId id(std::string_view name) { return domain::ModelId::parse(name).value(); }
  timeline::RequestRow row(base::Wall at, base::Duration lasted) const {
    timeline::RequestRow row;
    row.at = at;
    row.model = "a";
    row.total_ms = base::to_ms(lasted);
    return row;
  }

  test::ManualClock clock;
  sys::FakeTimeZone zone;
  Calendar calendar{clock, &zone};
  Learner learner{calendar, {}};
};

TEST_F(LessonsTest, WhatEarlierRunsSawCountsAsIfThisOneHad) {
  Demands live(calendar, {});
  for (int count = 0; count < 20; ++count) {
    learner.see(row(clock.wall(), 5s));
    live.use_began(id("a"));
    clock.advance(5s);
    live.use_ended(id("a"));
    clock.advance(20min);
  }
  Demands learnt(calendar, {});
  learnt.learn(learner.lessons().demands);
  ASSERT_NE(learnt.find(id("a")), nullptr);
  EXPECT_EQ(learnt.find(id("a"))->state(), live.find(id("a"))->state());
  EXPECT_DOUBLE_EQ(learnt.reuse(id("a"), 30min), live.reuse(id("a"), 30min));
  EXPECT_DOUBLE_EQ(learnt.uses(id("a")), live.uses(id("a")));
}

TEST_F(LessonsTest, UsesThatOverlapAreOneUse) {
  const base::Wall began = clock.wall() - 1h;
  const std::vector<Use> uses = {{.began = began, .lasted = 10min}, {.began = began + 1min, .lasted = 1min}};
  const auto demand = demand_of(uses, calendar, {});
  EXPECT_EQ(demand.last_end(), clock.now() - 50min);
  EXPECT_EQ(demand.state().minutes[0], 0) << "there was no gap between them";
}

TEST_F(LessonsTest, OfStartsAndFirstTokensTheLatestAreKept) {
  for (int count = 0; count < 100; ++count) {
    auto one = row(clock.wall(), 1s);
    one.ttft_ms = count;
    one.start_ms = count % 2 == 0 ? std::optional(1000.0 + count) : std::nullopt;
    one.cold_ms = one.start_ms.value_or(0);
    learner.see(one);
  }
  const auto times = learner.lessons().times.at(id("a"));
  ASSERT_THAT(times.starts, SizeIs(Resident::kTimesRemembered));
  EXPECT_EQ(times.starts.back(), 1098ms);
  ASSERT_THAT(times.first_tokens, SizeIs(Resident::kTimesRemembered));
  EXPECT_EQ(times.first_tokens.back(), 99ms) << "only of those that waited for nothing";
}

TEST_F(LessonsTest, OfEventsOnlyWhatBecameOfPrewarmsMatters) {
  for (const auto* what : {"evicted", "prewarm", "process_ready", "prewarm_used"}) {
    domain::Event event;
    event.what = what;
    event.model = "a";
    learner.see(event);
  }
  const auto lessons = learner.lessons();
  ASSERT_THAT(lessons.prewarms, SizeIs(2));
  EXPECT_EQ(lessons.prewarms.back().what, "prewarm_used");
}

TEST_F(LessonsTest, ANameThatIsNoModelsIsLeftOut) {
  auto odd = row(clock.wall(), 1s);
  odd.model = "../../etc";
  learner.see(odd);
  EXPECT_TRUE(learner.lessons().demands.empty());
}

}  // namespace
}  // namespace hearth::keeper
