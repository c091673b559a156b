// Many models, classes, pins, crashes, failing demotions and clients that leave, in an order drawn from a seed: the
// rules hold at every step (RoomFixture::check_rules, and what a stop checks), and every request ends.
#include <random>

#include "keeper/room_fixture.h"

namespace hearth::keeper {
namespace {

using namespace std::chrono_literals;
using domain::ServiceClass;

class RoomRandomTest : public RoomFixture, public testing::WithParamInterface<unsigned> {
 protected:
  static constexpr int kModels = 6;
  static constexpr int kSteps = 2500;

  RoomRandomTest() : random_(GetParam()) {
    config.reserve = kGB / 2;
    config.longest_wait = 5min;
    make_room(10 * kGB);
    for (int number = 0; number < kModels; ++number) {
      const auto weights = kGB + draw(4) * kGB;
      add(name(number), weights, draw(2) * kGB / 2, static_cast<ServiceClass>(draw(3)));
      script(name(number)).hibernates = draw(3) > 0;
    }
  }
  std::uint64_t draw(std::uint64_t below) {
    return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random_);
  }
  static std::string name(int number) { return "m" + std::to_string(number); }
  std::string any_model() { return name(static_cast<int>(draw(kModels))); }
  std::shared_ptr<Visit> any_visit() { return visits.empty() ? nullptr : visits[draw(visits.size())]; }

  void step() {
    switch (draw(12)) {
      case 0:
      case 1:
      case 2:
        if (visits.size() < 30) ask_anything();
        break;
      case 3:
      case 4:
      case 5:
        if (const auto visit = any_visit()) end(visit);
        break;
      case 6:
        if (const auto visit = any_visit()) leave(visit);
        break;
      case 7:
        break_something();
        break;
      case 8:
        pin_something();
        break;
      case 9:
        memory.now.available = draw(4) == 0 ? kGB / 4 : 60 * kGB;
        room->look_at_pressure();
        settle();
        break;
      default:
        pass_time(std::chrono::seconds(draw(90)));
    }
    std::erase_if(visits, [this](const auto& visit) {
      ended_ += visit->ended ? 1 : 0;
      return visit->ended;
    });
  }
  void ask_anything() {
    ++asked_;
    const auto wish = draw(4) == 0 ? std::optional(ServiceClass::background) : std::nullopt;
    residents[id(any_model())]->votes.wish("ann", policy::KeepSource::api,
                                           policy::KeepWish::lasting(std::chrono::seconds(draw(600))), clock.now());
    (void)ask(any_model(), wish);
  }
  void break_something() {
    EngineScript& one = script(any_model());
    switch (draw(4)) {
      case 0:
        if (one.alive > 0) one.crash();
        break;
      case 1:
        one.dies_starting = draw(2) == 0;
        break;
      case 2:
        one.ready = draw(3) > 0;
        break;
      default:
        one.hibernate_fails.reset();
        if (draw(2) == 0) one.hibernate_fails = base::Error(base::ErrorCode::unsupported, "the kernel refused");
    }
    settle();
  }
  void pin_something() {
    const auto which = id(any_model());
    if (pinned.empty() && draw(3) == 0)
      pinned.insert(which);
    else
      pinned.clear();
    room->look_again();
    settle();
  }
  // Nothing is broken any more, and time passes: whoever still waits gets an answer.
  void calm_down() {
    pinned.clear();
    memory.now.available = 60 * kGB;
    for (auto& [which, one] : scripts) {
      one.ready = true;
      one.dies_starting = false;
    }
    for (int round = 0; round < 40; ++round) {
      for (const auto& visit : visits) {
        if (visit->served) visit->end();
      }
      pass_time(30s);
    }
  }

  std::mt19937_64 random_;
  std::size_t asked_ = 0;
  std::size_t ended_ = 0;
};

TEST_P(RoomRandomTest, TheRulesHoldAndEveryRequestEnds) {
  for (int number = 0; number < kSteps && !HasFailure(); ++number)
    step();
  calm_down();
  for (const auto& visit : visits)
    EXPECT_TRUE(visit->ended) << "a request is still " << (visit->served ? "answered" : "waiting");
  EXPECT_EQ(room->waiting(), 0U);
  EXPECT_GT(asked_, 300U);
  for (const auto& visit : visits) {
    const auto code = visit->error ? visit->error->code : base::ErrorCode::internal;
    EXPECT_TRUE(!visit->error || code != base::ErrorCode::internal) << visit->error->message;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RoomRandomTest, testing::Range(1U, 5U));

}  // namespace
}  // namespace hearth::keeper
