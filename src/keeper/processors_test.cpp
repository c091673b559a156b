#include "keeper/processors.h"

#include "keeper/room_fixture.h"

namespace hearth::keeper {
namespace {

using enum domain::ServiceClass;

class ProcessorsTest : public RoomFixture {
 protected:
  ProcessorsTest() {
    make_room(10 * kGB);
    for (const auto* name : {"a", "b", "c"})
      add(name, kGB);
  }
  void begin(std::string_view name, domain::ServiceClass service_class) {
    residents.at(id(name))->work_began(service_class);
    processors.began(id(name));
  }
  void end(std::string_view name, domain::ServiceClass service_class) {
    residents.at(id(name))->work_ended(service_class);
    processors.ended();
  }
  int niceness(std::string_view name) { return residents.at(id(name))->supervisor().niceness(); }
  std::vector<int> all() { return {niceness("a"), niceness("b"), niceness("c")}; }

  Processors processors{{.executor = io.get_executor(),
                         .clock = clock,
                         .residents = residents,
                         .may_lower_niceness = true,
                         .class_of = [this](const domain::ModelId& of) { return classes[of]; },
                         .turn = std::chrono::milliseconds(1)}};
};

TEST_F(ProcessorsTest, TheLowerGiveWayWhileTheHigherWork) {
  begin("a", interactive);
  begin("b", background);
  EXPECT_THAT(all(), testing::ElementsAre(0, 19, 0));
  begin("c", voice);
  EXPECT_THAT(all(), testing::ElementsAre(15, 19, 0));
  end("c", voice);
  EXPECT_THAT(all(), testing::ElementsAre(0, 19, 0));
  begin("b", voice);
  EXPECT_THAT(all(), testing::ElementsAre(15, 0, 0)) << "the highest that it works for counts";
}

TEST_F(ProcessorsTest, TheTurnGoesAroundAmongEquals) {
  begin("a", interactive);
  begin("c", interactive);
  begin("b", background);
  EXPECT_THAT(all(), testing::ElementsAre(10, 19, 0)) << "who began last has it first";
  processors.pass_turn();
  EXPECT_THAT(all(), testing::ElementsAre(0, 19, 10));
  processors.pass_turn();
  EXPECT_THAT(all(), testing::ElementsAre(10, 19, 0));
  end("a", interactive);
  EXPECT_THAT(all(), testing::ElementsAre(0, 19, 0));
}

TEST_F(ProcessorsTest, WhoHasTheTurnAndIsDoneLeavesItToAnother) {
  begin("a", interactive);
  begin("b", interactive);
  begin("c", interactive);
  EXPECT_THAT(all(), testing::ElementsAre(10, 10, 0));
  end("c", interactive);
  EXPECT_THAT(all(), testing::ElementsAre(0, 10, 0));
}

TEST_F(ProcessorsTest, MoreRequestsForTheSameModelDoNotBringTheTurn) {
  begin("a", interactive);
  begin("b", interactive);
  begin("a", interactive);
  EXPECT_THAT(all(), testing::ElementsAre(10, 0, 0));
}

TEST_F(ProcessorsTest, ATurnComesToAnEndByItself) {
  begin("a", interactive);
  begin("b", interactive);
  rt::asio::cancellation_signal stop;
  bool stopped = false;
  rt::asio::co_spawn(io, processors.run(),
                     rt::asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr) { stopped = true; }));
  while (niceness("a") != 0)
    io.run_one();
  EXPECT_EQ(niceness("b"), 10);
  stop.emit(rt::asio::cancellation_type::terminal);
  while (!stopped)
    io.run_one();
  io.restart();
}

TEST_F(ProcessorsTest, BackgroundThatGaveWayForTheBoundTakesTurnsWithInteractive) {
  begin("a", interactive);
  begin("b", background);
  clock.advance(std::chrono::minutes(14));
  processors.share();
  EXPECT_THAT(all(), testing::ElementsAre(0, 19, 0));
  clock.advance(std::chrono::minutes(1));
  processors.share();
  EXPECT_THAT(all(), testing::ElementsAre(0, 10, 0));
  processors.pass_turn();
  EXPECT_THAT(all(), testing::ElementsAre(10, 0, 0));
  begin("c", voice);
  EXPECT_THAT(all(), testing::ElementsAre(15, 15, 0)) << "never as voice";
  end("c", voice);
  end("a", interactive);
  begin("a", interactive);
  EXPECT_THAT(all(), testing::ElementsAre(0, 19, 0)) << "a break ends it";
}

TEST_F(ProcessorsTest, PatienceComesToAnEndByItself) {
  begin("a", interactive);
  begin("b", background);
  clock.advance(std::chrono::minutes(15) - std::chrono::milliseconds(1));
  rt::asio::cancellation_signal stop;
  bool stopped = false;
  rt::asio::co_spawn(io, processors.run(),
                     rt::asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr) { stopped = true; }));
  io.run_one();
  EXPECT_EQ(niceness("b"), 19);
  clock.advance(std::chrono::milliseconds(1));
  while (niceness("b") != 0)
    io.run_one();
  stop.emit(rt::asio::cancellation_type::terminal);
  while (!stopped)
    io.run_one();
  io.restart();
}

TEST_F(ProcessorsTest, OwnWorkIsOfTheLowestClass) {
  begin("a", interactive);
  {
    const Work work(processors, id("b"), residents.at(id("b")), std::nullopt);
    EXPECT_THAT(all(), testing::ElementsAre(0, 19, 0));
  }
  EXPECT_THAT(all(), testing::ElementsAre(0, 0, 0));
}

TEST_F(ProcessorsTest, WhereNothingCanBeLoweredTheModelsClassDecides) {
  Processors lasting({.executor = io.get_executor(),
                      .clock = clock,
                      .residents = residents,
                      .may_lower_niceness = false,
                      .class_of = [this](const domain::ModelId& of) { return classes[of]; }});
  classes[id("b")] = background;
  residents.at(id("a"))->work_began(background);
  lasting.began(id("a"));
  EXPECT_THAT(all(), testing::ElementsAre(0, 10, 0));
}

}  // namespace
}  // namespace hearth::keeper
