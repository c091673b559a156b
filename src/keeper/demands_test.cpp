#include "keeper/demands.h"

#include <gtest/gtest.h>

#include "sys/fake_machine.h"
#include "tests/support/manual_clock.h"

namespace hearth::keeper {
namespace {

using namespace std::chrono_literals;

class DemandsTest : public testing::Test {
 protected:
  static domain::ModelId id(std::string_view name) { return domain::ModelId::parse(name).value(); }
  // Somebody uses it for a while, and then nobody does.
  void use(Demands& of) {
    of.use_began(id("a"));
    clock.advance(5s);
    of.use_ended(id("a"));
    clock.advance(20min);
  }

  test::ManualClock clock;
  sys::FakeTimeZone zone;
  Demands demands{{clock, &zone}, {}};
};

TEST_F(DemandsTest, WhatIsUsedIsLikelyToBeUsedAgain) {
  for (int count = 0; count < 20; ++count)
    use(demands);
  EXPECT_GT(demands.reuse(id("a"), 30min), 0.7);
  EXPECT_GT(demands.uses(id("a")), 10);
  EXPECT_EQ(demands.reuse(id("b"), 30min), 0) << "nothing is known of it";
  demands.forget(id("a"));
  EXPECT_TRUE(demands.empty());
}

TEST_F(DemandsTest, APastThatComesLateCountsAsIfItHadBeenKnown) {
  Demands known({clock, &zone}, {});
  for (int count = 0; count < 20; ++count)
    use(known);
  const policy::Demand past = *known.find(id("a"));

  demands.await_past();
  for (auto* of : {&known, &demands})
    of->use_began(id("a"));
  EXPECT_EQ(demands.reuse(id("a"), 30min), 1) << "it is in use";
  demands.learn({{id("a"), past}});
  EXPECT_EQ(demands.reuse(id("a"), 30min), 1) << "still";
  clock.advance(5s);
  for (auto* of : {&known, &demands})
    of->use_ended(id("a"));
  clock.advance(1min);
  EXPECT_EQ(demands.find(id("a"))->state(), known.find(id("a"))->state());
  EXPECT_DOUBLE_EQ(demands.reuse(id("a"), 30min), known.reuse(id("a"), 30min));
  EXPECT_DOUBLE_EQ(demands.uses(id("a")), known.uses(id("a")));
}

TEST_F(DemandsTest, WhatWasForgottenMeanwhileStaysForgotten) {
  demands.await_past();
  use(demands);
  demands.forget(id("a"));
  demands.learn({});
  EXPECT_TRUE(demands.empty());
}

}  // namespace
}  // namespace hearth::keeper
