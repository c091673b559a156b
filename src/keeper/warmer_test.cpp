// What is warmed before anybody asks, over a room with engines that do what a test says.
#include "keeper/warmer.h"

#include "keeper/room_fixture.h"

namespace hearth::keeper {
namespace {

using domain::ModelState;
using domain::ServiceClass;
using testing::HasSubstr;
using namespace std::chrono_literals;

class WarmerTest : public RoomFixture {
 protected:
  int votes_told = 0;
  void make(base::Bytes budget, std::vector<std::string> schedules, bool learn = true) {
    make_room(budget);
    std::vector<policy::Schedule> parsed;
    for (const auto& text : schedules)
      parsed.push_back(config::parse_schedule(text).value());
    expectations.emplace(demands, parsed, learn);
    warmer.emplace(Warmer::Parts{
        .executor = io.get_executor(),
        .clock = clock,
        .residents = residents,
        .room = *room,
        .demands = demands,
        .expectations = *expectations,
        .memory = memory_for_learnt,
        .class_of = [this](const domain::ModelId& of) { return classes[of]; },
        .stored = [this] { return stored(); },
        .resident = [this](domain::ModelId of) { return resident(std::move(of)); },
        .bring_up = [this](domain::ModelId of, std::shared_ptr<Resident> who) { return bring_up(of, std::move(who)); },
        .on_vote = [this] { ++votes_told; },
        .on_event = [this](domain::Event event) { events.push_back(std::move(event)); }});
  }
  void look() {
    bool done = false;
    rt::asio::co_spawn(io, warmer->look(), [&done](const std::exception_ptr& failure) {
      if (failure) std::rethrow_exception(failure);
      done = true;
    });
    for (int turn = 0; turn < 20 && !done; ++turn)
      settle();
    EXPECT_TRUE(done);
  }
  void used(std::string_view name) {
    warmer->used(id(name));
    use(name);
  }
  // An hour apart, until that is a habit; then until it is expected again.
  void learn_hourly(std::string_view name) {
    for (int count = 0; count < 20; ++count) {
      used(name);
      pass_time(1h);
    }
    used(name);
    residents.at(id(name))->votes.clear();
  }
  void go_away(std::string_view name) {
    bool done = false;
    rt::asio::co_spawn(io, residents.at(id(name))->supervisor().stop(),
                       [&done](const std::exception_ptr&, const base::Status&) { done = true; });
    settle();
    EXPECT_TRUE(done);
  }
  [[nodiscard]] std::string why(std::string_view what) const {
    const auto found = std::ranges::find(events, what, &domain::Event::what);
    return found == events.end() ? "" : found->why.value_or("");
  }

  base::Bytes memory_for_learnt = 64 * kGB;
  std::optional<Expectations> expectations;
  std::optional<Warmer> warmer;

 private:
  rt::Task<std::vector<domain::ModelId>> stored() {
    std::vector<domain::ModelId> ids;
    for (const auto& [of, who] : residents)
      ids.push_back(of);
    co_return ids;
  }
  rt::Task<base::Result<std::shared_ptr<Resident>>> resident(domain::ModelId of) { co_return residents.at(of); }
  rt::Task<base::Status> bring_up(domain::ModelId, std::shared_ptr<Resident> who) {
    auto ready = co_await who->supervisor().ensure_ready();
    if (!ready) co_return base::pass(ready);
    who->set_hibernated(false);
    co_return base::Status{};
  }
};

TEST_F(WarmerTest, AScheduledModelIsThereWithoutBeingAskedForAndHeldUntilItsEnd) {
  make(4 * kGB, {"daily 22:00-23:00: voice resident"});  // it is 22:13
  add("assistant", 2 * kGB, 0, ServiceClass::voice);
  add("chat", 1 * kGB);
  look();
  EXPECT_EQ(state("assistant"), ModelState::ready);
  EXPECT_EQ(state("chat"), ModelState::cold);
  EXPECT_THAT(why("prewarm"), HasSubstr("daily 22:00-23:00: voice resident"));
  const auto verdict = residents.at(id("assistant"))->votes.verdict(clock.now());
  EXPECT_EQ(verdict.source, policy::KeepSource::schedule);
  EXPECT_NEAR(base::to_ms(*verdict.until - clock.now()) / 60'000, 47, 1);
  look();
  EXPECT_EQ(script("assistant").starts, 1) << "it is there already";
  used("assistant");
  EXPECT_EQ(count("prewarm_used"), 1U);
}

TEST_F(WarmerTest, WhatIsToldToGoWhileItStartsIsNotHeld) {
  make(4 * kGB, {"daily 22:00-23:00: a resident"});
  add("a", 2 * kGB);
  auto& votes = residents.at(id("a"))->votes;
  votes.wish("api", policy::KeepSource::api, policy::KeepWish::unload(), clock.now());
  look();
  EXPECT_TRUE(votes.verdict(clock.now()).unload_now);
}

TEST_F(WarmerTest, AVoteIsTold) {
  make(4 * kGB, {"daily 22:00-23:00: a resident"});
  add("a", 2 * kGB);
  EXPECT_EQ(votes_told, 0);
  look();
  EXPECT_GT(votes_told, 0);
}

TEST_F(WarmerTest, ALoadThatNobodyUsedIsCountedAsWasted) {
  make(4 * kGB, {"daily 22:00-23:00: a resident"});
  add("a", 2 * kGB);
  look();
  pass_time(46min);
  look();
  EXPECT_EQ(count("prewarm_wasted"), 0U);
  pass_time(2min);
  look();
  EXPECT_EQ(count("prewarm_wasted"), 1U);
  EXPECT_EQ(expectations->describe(id("a"), ServiceClass::interactive, 30min, clock.wall()).wasted, 1U);
}

TEST_F(WarmerTest, WhatIsUsedEveryHourIsThereBeforeTheHourIsOver) {
  make(4 * kGB, {});
  add("a", 2 * kGB);
  learn_hourly("a");
  go_away("a");
  pass_time(40min);
  look();
  EXPECT_EQ(state("a"), ModelState::cold);
  pass_time(15min);
  look();
  EXPECT_EQ(state("a"), ModelState::ready);
  EXPECT_THAT(why("prewarm"), HasSubstr("% likely"));
  EXPECT_EQ(residents.at(id("a"))->votes.verdict(clock.now()).source, policy::KeepSource::demand);
  pass_time(5min);
  used("a");
  EXPECT_EQ(count("prewarm_used"), 1U);
}

TEST_F(WarmerTest, WhatIsExpectedSoonIsHeldAndNotLoadedAgain) {
  make(4 * kGB, {});
  add("a", 2 * kGB);
  learn_hourly("a");
  pass_time(55min);
  look();
  EXPECT_EQ(count("prewarm"), 0U);
  EXPECT_EQ(residents.at(id("a"))->votes.verdict(clock.now()).source, policy::KeepSource::demand);
}

// Likely to be used is less than expected: it would be worth its wake, but somebody told it to go.
TEST_F(WarmerTest, AHibernatedModelThatIsNotExpectedStaysSo) {
  make(4 * kGB, {});
  add("a", 2 * kGB);
  for (int count = 0; count < 20; ++count) {
    used("a");
    pass_time(1min);
  }
  pass_time(5min);  // its gaps are shorter
  residents.at(id("a"))->set_hibernated(true);
  expectations->told_to_go(id("a"));
  look();
  EXPECT_EQ(count("prewarm"), 0U);
  EXPECT_TRUE(residents.at(id("a"))->hibernated());
}

TEST_F(WarmerTest, LearntLoadsTogetherStayWithinTheirMemory) {
  memory_for_learnt = kGB;
  make(4 * kGB, {});
  add("a", 2 * kGB);
  learn_hourly("a");
  go_away("a");
  pass_time(55min);
  look();
  EXPECT_EQ(state("a"), ModelState::cold);
}

TEST_F(WarmerTest, NothingIsWarmedWhileRequestsWaitOrTheMachineIsShortOfMemory) {
  make(4 * kGB, {"daily 22:00-23:00: a resident"});
  add("a", 2 * kGB);
  add("busy", 3 * kGB);
  add("waits", 3 * kGB);
  const auto busy = ask("busy");
  pass_time(1min);
  const auto waits = ask("waits");
  look();
  EXPECT_EQ(state("a"), ModelState::cold);
  end(busy);
  end(waits);
  memory.pressed.memory_some_avg10 = 50.0;
  room->look_at_pressure();
  look();
  EXPECT_EQ(state("a"), ModelState::cold);
  memory.pressed.memory_some_avg10 = 0.0;
  pass_time(1min);
  room->look_at_pressure();
  look();
  EXPECT_EQ(state("a"), ModelState::ready);
}

TEST_F(WarmerTest, AModelThatIsWorthLessGoesForAScheduledOneAndOneInUseDoesNot) {
  make(3 * kGB, {"daily 22:00-23:00: a resident"});
  add("a", 2 * kGB, 0, ServiceClass::voice);
  add("b", 2 * kGB, 0, ServiceClass::background);
  const auto busy = ask("b");
  pass_time(5min);
  look();
  EXPECT_EQ(state("a"), ModelState::cold);
  end(busy);
  pass_time(1min);
  look();
  EXPECT_EQ(state("a"), ModelState::ready);
  const auto gone = std::ranges::find_if(
      events, [](const domain::Event& event) { return event.what == "hibernated" || event.what == "evicted"; });
  ASSERT_NE(gone, events.end());
  EXPECT_EQ(gone->by, "schedule of a");
}

TEST_F(WarmerTest, AClassWithALimitHasItsModelsWarmWhereOnlyThatKeepsIt) {
  config.policy.admission.max_cold_ttft = {1500ms, std::nullopt, std::nullopt};
  make(8 * kGB, {});
  add("slow", 2 * kGB, 0, ServiceClass::voice);
  add("quick", kGB / 2, 0, ServiceClass::voice);
  add("chat", 2 * kGB);
  look();
  EXPECT_EQ(state("slow"), ModelState::ready);
  EXPECT_EQ(state("quick"), ModelState::cold) << "it starts within its time";
  EXPECT_EQ(state("chat"), ModelState::cold);
  EXPECT_THAT(why("prewarm"), HasSubstr("max_cold_ttft of class voice"));
  look();
  EXPECT_EQ(count("prewarm"), 1U);
  residents.at(id("slow"))->set_hibernated(true);
  go_away("slow");
  EXPECT_FALSE(residents.at(id("slow"))->hibernated()) << "there is no process whose weights could sleep";
  look();
  EXPECT_EQ(state("slow"), ModelState::ready);
  expectations->told_to_go(id("slow"));
  go_away("slow");
  look();
  EXPECT_EQ(state("slow"), ModelState::cold) << "somebody told it to go";
}

TEST_F(WarmerTest, AnEngineThatDoesNotStartIsLeftForAWhile) {
  make(4 * kGB, {"daily 22:00-23:00: a resident"});
  add("a", 2 * kGB);
  script("a").dies_starting = true;
  look();
  const int starts = script("a").starts;
  EXPECT_GE(starts, 1);
  pass_time(1min);
  look();
  EXPECT_EQ(script("a").starts, starts);
  script("a").dies_starting = false;
  pass_time(5min);
  look();
  EXPECT_EQ(state("a"), ModelState::ready);
}

}  // namespace
}  // namespace hearth::keeper
