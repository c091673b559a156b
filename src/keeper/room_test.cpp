// Who gets memory, who waits and who is refused, over engines that do what a test says.
#include "keeper/room_fixture.h"

namespace hearth::keeper {
namespace {

using base::ErrorCode;
using domain::ModelState;
using domain::ServiceClass;
using testing::HasSubstr;
using namespace std::chrono_literals;

class RoomTest : public RoomFixture {};

TEST_F(RoomTest, WhatFitsLoadsAtOnceAndIsReserved) {
  make_room(4 * kGB);
  add("a", 1 * kGB, kGB / 2);
  use("a");
  EXPECT_EQ(reserved("a"), kGB + kGB / 2);
  EXPECT_EQ(count("memory_reserved"), 1U);
}

TEST_F(RoomTest, TwoThatTakeTurnsInRoomForOneHibernateInsteadOfStopping) {
  make_room(3 * kGB);
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  for (int round = 0; round < 3; ++round) {
    use("a");
    pass_time(1min);
    use("b");
    pass_time(1min);
  }
  EXPECT_EQ(script("a").starts, 1);
  EXPECT_EQ(script("b").starts, 1);
  EXPECT_EQ(script("a").stops + script("b").stops, 0);
  EXPECT_EQ(script("a").wakes, 2);
  EXPECT_EQ(script("b").wakes, 2);
  EXPECT_EQ(room->books().evictions(id("a")), 3U);
}

TEST_F(RoomTest, PagesOfHibernatedWeightsStayWhereTheMachineHasRoomForThem) {
  make_room(3 * kGB);
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  memory.now.available = 5 * kGB;  // 2 GB are promised to a
  use("a");
  pass_time(1min);
  use("b");
  EXPECT_EQ(script("a").pages, Pages::keep);
  const auto told = std::ranges::find(events, "hibernated", &domain::Event::what);
  EXPECT_THAT(told->why.value_or(""), HasSubstr("its pages stay"));
  pass_time(1min);
  memory.now.available = 3 * kGB;  // 2 GB are promised to b
  use("a");
  EXPECT_EQ(script("b").pages, Pages::drop);
}

TEST_F(RoomTest, KeptPagesAreNobodysMemoryAndGoFirstUnderPressure) {
  make_room(3 * kGB);
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  memory.now.available = 6 * kGB;
  use("a");
  stats.set(*residents[id("a")]->supervisor().pid(), {.resident = 2 * kGB, .resident_file = 2 * kGB});
  pass_time(1min);
  const auto busy = ask("b");
  ASSERT_TRUE(residents[id("a")]->pages_kept());
  EXPECT_EQ(room->memory_plan().free, 1 * kGB);
  EXPECT_EQ(room->books().pages_kept(), 2 * kGB);
  memory.pressed.memory_some_avg10 = 60;
  room->look_at_pressure();
  settle();
  EXPECT_EQ(script("a").pages, Pages::drop);
  EXPECT_FALSE(residents[id("a")]->pages_kept());
  EXPECT_EQ(events.back().by, "memory pressure");
  end(busy);
}

TEST_F(RoomTest, WithoutThatPowerTheOtherIsStopped) {
  make_room(3 * kGB);
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  script("a").hibernates = false;
  use("a");
  pass_time(1min);
  use("b");
  EXPECT_EQ(state("a"), ModelState::cold);
  EXPECT_EQ(reserved("a"), 0U);
  ASSERT_EQ(count("evicted"), 1U);
  const auto evicted = std::ranges::find(events, "evicted", &domain::Event::what);
  EXPECT_EQ(evicted->by, "request for b");
  EXPECT_THAT(evicted->why.value_or(""), HasSubstr("for b"));
}

TEST_F(RoomTest, WhatStaysOfAHibernatedModelIsStoppedWhenThatIsNeededToo) {
  make_room(3 * kGB);
  add("a", 1 * kGB, 1 * kGB);
  add("b", 2 * kGB, kGB / 2);
  use("a");
  pass_time(1min);
  use("b");
  EXPECT_EQ(script("a").sleeps, 0) << "hibernating would not have been enough";
  EXPECT_EQ(script("a").stops, 1);
}

TEST_F(RoomTest, ABusyModelIsWaitedForAndItsEndIsTheNextOnesTurn) {
  make_room(3 * kGB);
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  const auto busy = ask("a");
  pass_time(1min);
  const auto waits = ask("b");
  EXPECT_FALSE(waits->served);
  EXPECT_EQ(room->waiting(), 1U);
  EXPECT_EQ(count("waiting_for_memory"), 1U);
  EXPECT_EQ(state("a"), ModelState::busy);
  end(busy);
  EXPECT_TRUE(waits->served);
  EXPECT_EQ(room->waiting(), 0U);
}

TEST_F(RoomTest, APinnedModelIsNoVictimAndTheNewcomerIsToldItsName) {
  make_room(3 * kGB);
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  pinned.insert(id("a"));
  use("a");
  pass_time(1min);
  const auto refused = ask("b");
  ASSERT_TRUE(refused->error);
  EXPECT_EQ(refused->error->code, ErrorCode::pinned_conflict);
  EXPECT_THAT(refused->error->message, HasSubstr("unpin a"));
  EXPECT_THAT(refused->error->details, HasSubstr("\"pinned\":[\"a\"]"));
  EXPECT_EQ(state("a"), ModelState::ready);
}

TEST_F(RoomTest, WhatCanNeverFitIsRefusedAtOnceWithTheNumbers) {
  make_room(3 * kGB);
  add("small", 1 * kGB);
  add("big", 2 * kGB, 2 * kGB);
  quantisations = {{"big:q2", policy::Footprint::host(2 * kGB)}, {"big:q8", policy::Footprint::host(9 * kGB)}};
  use("small");
  const auto refused = ask("big");
  ASSERT_TRUE(refused->error);
  EXPECT_EQ(refused->error->code, ErrorCode::does_not_fit);
  EXPECT_FALSE(refused->error->retry_after);
  EXPECT_EQ(refused->error->details,
            R"({"needed":4000000000,"available":3000000000,"largest_context":256,"smaller_quantisations":["big:q2"]})");
  EXPECT_EQ(state("small"), ModelState::ready) << "nothing is evicted for what cannot fit";
}

TEST_F(RoomTest, BackgroundEvictsNothingThatIsHeldForVoice) {
  make_room(3 * kGB);
  add("voice", 2 * kGB, 0, ServiceClass::voice);
  add("batch", 2 * kGB, 0, ServiceClass::background);
  residents[id("voice")]->votes.wish("house", policy::KeepSource::config, policy::KeepWish::lasting(1h), clock.now());
  use("voice");
  pass_time(10min);
  const auto waits = ask("batch");
  EXPECT_FALSE(waits->served);
  EXPECT_EQ(state("voice"), ModelState::ready);
  pass_time(11min);
  ASSERT_TRUE(waits->error) << "its own wait is bounded";
  EXPECT_EQ(waits->error->code, ErrorCode::loading);
  EXPECT_TRUE(waits->error->retry_after);
  EXPECT_EQ(script("voice").stops + script("voice").sleeps, 0);
  pass_time(1h);
  use("batch");
}

TEST_F(RoomTest, AHigherClassGoesFirstThoughItCameLater) {
  make_room(2 * kGB);
  add("a", 2 * kGB);
  add("batch", 2 * kGB, 0, ServiceClass::background);
  add("chat", 2 * kGB);
  add("voice", 2 * kGB, 0, ServiceClass::voice);
  const auto busy = ask("a");
  pass_time(1min);
  const auto batch = ask("batch");
  const auto chat = ask("chat");
  const auto voice = ask("voice");
  end(busy);
  EXPECT_TRUE(voice->served);
  pass_time(1min);
  end(voice);
  EXPECT_TRUE(chat->served);
  pass_time(1min);
  end(chat);
  EXPECT_TRUE(batch->served);
}

TEST_F(RoomTest, ARequestCanLowerItsClassAndNotRaiseIt) {
  make_room(2 * kGB);
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  add("c", 2 * kGB);
  const auto busy = ask("a");
  pass_time(1min);
  const auto lowered = ask("b", ServiceClass::background);
  const auto raised = ask("c", ServiceClass::voice);
  const auto plain = ask("b");
  end(busy);
  EXPECT_TRUE(raised->served) << "as interactive, it goes before background";
  EXPECT_FALSE(lowered->served);
  EXPECT_FALSE(plain->served);
  pass_time(1min);
  end(raised);
  EXPECT_TRUE(plain->served);
  EXPECT_TRUE(lowered->served) << "one load serves both";
  EXPECT_EQ(script("b").starts, 1);
}

TEST_F(RoomTest, AClientThatLeavesGivesUpItsPlace) {
  make_room(2 * kGB);
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  add("c", 2 * kGB);
  const auto busy = ask("a");
  pass_time(1min);
  const auto leaves = ask("b");
  const auto next = ask("c");
  leave(leaves);
  EXPECT_TRUE(leaves->ended);
  EXPECT_EQ(room->waiting(), 1U);
  end(busy);
  EXPECT_TRUE(next->served);
  EXPECT_EQ(script("b").starts, 0);
}

TEST_F(RoomTest, AnEngineThatDiesGivesItsMemoryBack) {
  make_room(2 * kGB);
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  use("a");
  crash("a");
  EXPECT_EQ(reserved("a"), 0U);
  use("b");
  EXPECT_EQ(count("evicted"), 0U);
}

TEST_F(RoomTest, AStartThatFailsGivesItsMemoryBack) {
  make_room(2 * kGB);
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  script("a").dies_starting = true;
  const auto fails = ask("a");
  ASSERT_TRUE(fails->error);
  EXPECT_EQ(fails->error->code, ErrorCode::engine_failed);
  EXPECT_EQ(reserved("a"), 0U);
  use("b");
}

TEST_F(RoomTest, AHibernateThatFailsIsNotFatal) {
  make_room(3 * kGB);
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  script("a").hibernate_fails = base::Error(ErrorCode::unsupported, "the kernel refused");
  use("a");
  pass_time(1min);
  use("b");
  EXPECT_EQ(count("eviction_failed"), 1U);
  EXPECT_EQ(script("a").stops, 1);
  script("a").hibernate_fails.reset();
  pass_time(1min);
  use("a");
  pass_time(1min);
  use("b");
  EXPECT_EQ(script("a").sleeps, 1) << "only the engine that refused has lost the rung";
}

TEST_F(RoomTest, TwoThatSleepAndAreBothWantedDoNotWaitForEachOtherForEver) {
  make_room(3 * kGB);
  add("a", 1 * kGB, 1 * kGB);
  add("b", 1 * kGB, 1 * kGB);
  add("c", 1 * kGB, 1 * kGB);
  // Two asleep keep 1 GB each, so that neither can wake while the third, busy, holds the last one.
  use("a");
  residents[id("a")]->set_hibernated(true);
  use("b");
  residents[id("b")]->set_hibernated(true);
  pass_time(1min);
  EXPECT_EQ(reserved("a") + reserved("b"), 2 * kGB);
  script("c").hibernates = false;
  const auto one = ask("a");
  const auto two = ask("b");
  EXPECT_TRUE(one->served);
  end(one);
  pass_time(1min);
  EXPECT_TRUE(two->served);
  end(two);
}

TEST_F(RoomTest, RequestsForAModelOnItsWayShareItsMemory) {
  make_room(2 * kGB);
  add("a", 2 * kGB);
  script("a").ready = false;
  const auto one = ask("a");
  const auto two = ask("a");
  EXPECT_EQ(room->waiting(), 0U);
  script("a").ready = true;
  settle();
  EXPECT_TRUE(one->served && two->served);
  EXPECT_EQ(script("a").starts, 1);
}

TEST_F(RoomTest, WhatIsFreeAnywayIsNotHeldBackForOneWhoLacksMore) {
  make_room(5 * kGB);
  add("busy", 3 * kGB);
  add("big", 4 * kGB);
  add("small", 1 * kGB);
  const auto busy = ask("busy");
  pass_time(1min);
  const auto big = ask("big");
  const auto small = ask("small");
  EXPECT_FALSE(big->served);
  EXPECT_TRUE(small->served);
  end(small);
  pass_time(1min);
  end(busy);
  EXPECT_TRUE(big->served);
}

TEST_F(RoomTest, ThereAreOnlySoManyPlaces) {
  config.policy.admission.most_waiting = {1, 1, 1};
  make_room(2 * kGB);
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  add("c", 2 * kGB);
  const auto busy = ask("a");
  const auto waits = ask("b");
  const auto refused = ask("c");
  ASSERT_TRUE(refused->error);
  EXPECT_EQ(refused->error->code, ErrorCode::queue_full);
  EXPECT_TRUE(refused->error->retry_after);
}

TEST_F(RoomTest, MemoryThatOthersHaveIsNotWaitedForLong) {
  make_room(8 * kGB);
  add("a", 2 * kGB);
  memory.now.available = 1 * kGB;
  const auto waits = ask("a");
  EXPECT_FALSE(waits->error);
  pass_time(31s);
  ASSERT_TRUE(waits->error);
  EXPECT_EQ(waits->error->code, ErrorCode::does_not_fit);
  EXPECT_TRUE(waits->error->retry_after);
  memory.now.available = 60 * kGB;
  use("a");
}

TEST_F(RoomTest, UnderPressureIdleModelsGiveMemoryBack) {
  config.reserve = 1 * kGB;
  make_room(8 * kGB);
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  use("a");
  const auto busy = ask("b");
  memory.now.available = kGB / 4;
  room->look_at_pressure();
  settle();
  EXPECT_EQ(state("a"), ModelState::hibernated);
  EXPECT_EQ(state("b"), ModelState::busy);
  EXPECT_EQ(count("pressure"), 1U);
  EXPECT_EQ(std::ranges::find(events, "hibernated", &domain::Event::what)->by, "memory pressure");
  EXPECT_THAT(room->memory_plan().pressure, HasSubstr("of the reserve are missing"));
}

TEST_F(RoomTest, OfModelsThatPushEachOtherOutOneIsHeldOnPurposeAndTheOtherTakesLongerTurns) {
  config.policy.pressure.thrash_share = 0.02;
  config.policy.pressure.turn_per_load = 15;
  make_room(3 * kGB);
  memory.now.available = 2 * kGB;  // nothing stays of what hibernates
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  residents[id("a")]->last_wake_s = residents[id("b")]->last_wake_s = 2;
  for (int round = 0; round < 20 && count("thrashing") == 0; ++round) {
    use(round % 2 == 0 ? "a" : "b");
    pass_time(5s);
  }
  ASSERT_EQ(count("thrashing"), 1U);
  EXPECT_THAT(room->memory_plan().pressure, HasSubstr("thrashing: these 2 models need 4.0 GB"));
  domain::ModelView view{.id = id("a")};
  room->describe(id("a"), *residents.at(id("a")), view);
  EXPECT_EQ(view.thrashing, room->memory_plan().pressure);
  // Whichever is kept: its own requests are served, the other's wait for half a minute at most.
  const bool keeps_a = view.thrashing->ends_with("keep 1 (a)");
  const char* kept = keeps_a ? "a" : "b";
  const char* other = keeps_a ? "b" : "a";
  if (state(kept) != ModelState::ready) pass_time(31s);
  use(kept);
  pass_time(5s);
  const auto waits = ask(other);
  EXPECT_FALSE(waits->served);
  use(kept);
  pass_time(20s);
  EXPECT_FALSE(waits->served);
  pass_time(11s);
  EXPECT_TRUE(waits->served) << "its turn has come";
  end(waits);
  EXPECT_EQ(count("thrashing"), 1U) << "told once";
  pass_time(6min);
  room->look_at_pressure();
  EXPECT_EQ(count("thrashing_over"), 1U);
  use(kept);
  pass_time(5s);
  use(other);
}

TEST_F(RoomTest, TurnsThatTakeNoTimeAreNoThrashing) {
  make_room(3 * kGB);
  memory.now.available = 2 * kGB;
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  residents[id("a")]->last_wake_s = residents[id("b")]->last_wake_s = 0.2;
  take_turns(40);
  EXPECT_EQ(script("a").wakes + script("b").wakes, 38);
  EXPECT_EQ(count("thrashing"), 0U);
}

TEST_F(RoomTest, TurnsThatReadNothingAgainAreNoThrashing) {
  config.policy.pressure.thrash_share = 0.02;
  make_room(3 * kGB);
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  memory.now.available = 6 * kGB;
  residents[id("a")]->last_wake_s = residents[id("b")]->last_wake_s = 2;
  take_turns(20);
  EXPECT_EQ(script("a").wakes + script("b").wakes, 18);
  EXPECT_EQ(count("thrashing"), 0U);
}

TEST_F(RoomTest, WhatOnlyFitsInThePlaceOfWhatIsKeptForeverForAHigherClassIsToldSoAtOnce) {
  make_room(3 * kGB);
  add("voice", 2 * kGB, 0, ServiceClass::voice);
  add("batch", 2 * kGB, 0, ServiceClass::background);
  add("other-voice", 2 * kGB, 0, ServiceClass::voice);
  residents[id("voice")]->votes.wish("house", policy::KeepSource::config, policy::KeepWish::forever(), clock.now());
  use("voice");
  pass_time(1min);
  const auto refused = ask("batch");
  ASSERT_TRUE(refused->error) << "waiting would change nothing";
  EXPECT_EQ(refused->error->code, ErrorCode::pinned_conflict);
  EXPECT_THAT(refused->error->message, HasSubstr("kept forever for a higher class has the rest: voice"));
  EXPECT_THAT(refused->error->details, HasSubstr("\"kept_forever\":[\"voice\"]"));
  use("other-voice");  // its own class may take it
  pass_time(1min);
  use("batch");
}

TEST_F(RoomTest, WhatAnswersForAHigherClassIsNotTakenForKeptForever) {
  make_room(3 * kGB);
  add("chat", 2 * kGB);
  add("batch", 2 * kGB, 0, ServiceClass::background);
  const auto busy = ask("chat");
  auto& votes = residents[id("chat")]->votes;
  votes.request_began("ann", {}, policy::KeepWish::lasting(1min), clock.now());
  pass_time(1min);
  const auto waits = ask("batch");
  EXPECT_FALSE(waits->error) << "chat will end";
  end(busy);
  votes.request_ended("ann", clock.now());
  pass_time(2min);
  EXPECT_TRUE(waits->served);
}

TEST_F(RoomTest, WhatIsKeptForeverIsNoHindranceWhereThereIsMemoryBesideIt) {
  make_room(4 * kGB);
  add("voice", 2 * kGB, 0, ServiceClass::voice);
  add("batch", 2 * kGB, 0, ServiceClass::background);
  add("chat", 2 * kGB);
  residents[id("voice")]->votes.wish("house", policy::KeepSource::config, policy::KeepWish::forever(), clock.now());
  use("voice");
  const auto busy = ask("chat");
  pass_time(1min);
  const auto waits = ask("batch");
  EXPECT_FALSE(waits->error) << "chat will end";
  end(busy);
  EXPECT_TRUE(waits->served);
}

// Another process takes what it can get: ours give back step by step, nobody who answers is touched, and when it is
// over everything is as before without a restart.
TEST_F(RoomTest, ASqueezeByAnotherProcessIsAnsweredAndSurvived) {
  config.reserve = 2 * kGB;
  make_room(20 * kGB);
  for (const auto* name : {"a", "b", "c"})
    add(name, 4 * kGB);
  memory.now.available = 16 * kGB;
  for (const auto* name : {"a", "b"}) {
    use(name);
    pass_time(1min);
  }
  const auto busy = ask("c");
  ASSERT_TRUE(busy->served);
  // What our engines hold is not available to others until it is given back.
  base::Bytes taken = 0;
  const auto available = [&] {
    base::Bytes held = taken;
    for (const auto* name : {"a", "b", "c"})
      held += reserved(name);
    return 16 * kGB - std::min(16 * kGB, held);
  };
  base::Bytes lowest = 16 * kGB;
  for (int second = 0; second < 60; second += 2) {
    if (taken < 8 * kGB) taken += kGB / 2;
    memory.now.available = available();
    lowest = std::min(lowest, memory.now.available.value());
    pass_time(2s);
    room->look_at_pressure();
    settle();
  }
  EXPECT_GT(lowest, 0U) << "the kernel would have had to kill";
  EXPECT_GE(available(), config.reserve) << "the reserve is there again while the other process goes on";
  EXPECT_EQ(state("c"), ModelState::busy);
  EXPECT_GE(count("pressure"), 1U);
  memory.now.available = 16 * kGB;  // what is promised and not touched is taken off that by the ledger
  end(busy);
  pass_time(1min);
  room->look_at_pressure();
  for (const auto* name : {"a", "b", "c"})
    use(name);
  EXPECT_EQ(state("a"), ModelState::ready);
}

TEST_F(RoomTest, AnotherGroupsLimitIsNobodysPressure) {
  make_room(20 * kGB);
  add("a", 4 * kGB);
  use("a");
  const auto look = [this] {
    pass_time(2s);
    *memory.refaulted += 100'000;
    room->look_at_pressure();
    settle();
  };
  memory.scanned = 7;
  pass_time(1min);
  look();
  look();
  EXPECT_EQ(state("a"), ModelState::ready);
  *memory.scanned += 50'000;
  look();
  EXPECT_NE(state("a"), ModelState::ready);
}

TEST_F(RoomTest, WithoutPressureStallInformationTheReserveStillCounts) {
  config.reserve = 2 * kGB;
  make_room(20 * kGB);
  add("a", 4 * kGB);
  use("a");
  pass_time(1min);
  memory.pressed = {};
  memory.swapped.reset();
  memory.refaulted.reset();
  memory.now.available = kGB;
  room->look_at_pressure();
  settle();
  EXPECT_NE(state("a"), ModelState::ready);
}

TEST_F(RoomTest, AClassThatWasPromisedMoreThanAColdStartIsToldWhatItGets) {
  config.policy.admission.max_cold_ttft = {1500ms, std::nullopt, std::nullopt};
  make_room(8 * kGB);
  add("voice", 2 * kGB, 0, ServiceClass::voice);
  add("chat", 2 * kGB);
  const auto cold = [this](std::string_view name) {
    return room->books().cold_start(id(name), *residents.at(id(name)));
  };
  EXPECT_FALSE(cold("voice").kept);
  EXPECT_EQ(cold("voice").limit_ms, 1500);
  EXPECT_NEAR(cold("voice").expected_ms, 2500, 1);
  EXPECT_THAT(cold("voice").why, HasSubstr("a cold start of 2.5 s is accepted, more than its 1.5 s"));
  EXPECT_TRUE(cold("chat").kept);
  EXPECT_EQ(cold("chat").why, "a cold start of 2.5 s is accepted");
  use("voice");
  EXPECT_TRUE(cold("voice").kept);
  EXPECT_THAT(cold("voice").why, HasSubstr("kept hibernated so that its first token comes within 1.5 s"));
}

TEST_F(RoomTest, TheNextLoadIsEstimatedAsMeasured) {
  make_room(8 * kGB);
  add("a", 2 * kGB, 1 * kGB);
  use("a");
  room->books().measured(id("a"), *residents[id("a")], {.resident = 0, .proportional = 3'300'000'000, .locked = 0});
  EXPECT_EQ(room->books().estimate(id("a"), *residents[id("a")]).claim.total().total(), 3'300'000'000U);
  EXPECT_EQ(reserved("a"), 3'300'000'000U);
}

TEST_F(RoomTest, APlanTellsAndDoesNothing) {
  make_room(3 * kGB);
  add("a", 2 * kGB);
  add("b", 2 * kGB);
  use("a");
  pass_time(1min);
  std::optional<domain::LoadPlan> plan;
  rt::asio::co_spawn(io, room->plan(id("b"), residents[id("b")], std::nullopt),
                     [&plan](std::exception_ptr, domain::LoadPlan made) { plan = std::move(made); });
  settle();
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->action, "load");
  EXPECT_EQ(plan->needed, 2 * kGB);
  ASSERT_EQ(plan->demotions.size(), 1U);
  EXPECT_EQ(plan->demotions[0].model, id("a"));
  EXPECT_EQ(plan->demotions[0].to, "hibernated");
  EXPECT_EQ(state("a"), ModelState::ready);
}

}  // namespace
}  // namespace hearth::keeper
