// The keeper over a real store, with engines that are ready, or not, when the test says so.
#include "keeper/keeper.h"

#include <gmock/gmock.h>

#include <boost/asio/bind_cancellation_slot.hpp>

#include "artifact/store_fixture.h"
#include "sys/fake_machine.h"
#include "tests/support/manual_clock.h"

namespace hearth::keeper {
namespace {

using base::ErrorCode;
using domain::Layer;
using domain::ModelState;
using domain::Warmth;
using testing::HasSubstr;
using testing::SizeIs;
using namespace std::chrono_literals;

// An engine that is ready once its switch is on, and ends when it is told to.
struct Switches {
  bool ready = true;
  int starts = 0;
  std::map<std::string, int> niceness;  // by model, as it was set last
};

class SwitchedProcess final : public engine::EngineProcess {
 public:
  SwitchedProcess(const rt::asio::any_io_executor& executor, Switches& switches, std::string model)
      : switches_(switches), model_(std::move(model)), changed_(executor) {}
  rt::Task<void> run() override {
    while (!ended_)
      (void)co_await changed_.wait_until(base::Mono::max());
  }
  rt::Task<engine::Health> health() override {
    co_return switches_.ready ? engine::Health::ready : engine::Health::loading;
  }
  [[nodiscard]] sys::ProcReading reading() const override { return {}; }
  [[nodiscard]] std::uint64_t output_bytes() const override { return ++said_; }  // it moves: no stall
  [[nodiscard]] std::vector<std::string> last_lines() const override { return {}; }
  [[nodiscard]] std::string how_it_ended() const override { return "exited with status 0"; }
  rt::Task<bool> stop() override {
    ended_ = true;
    changed_.notify_all();
    co_return true;
  }
  void set_niceness(int niceness) override { switches_.niceness[model_] = niceness; }
  [[nodiscard]] int pid() const override { return 4711; }
  [[nodiscard]] const std::string& socket_path() const override { return socket_; }

 private:
  Switches& switches_;
  std::string model_;
  rt::Notice changed_;
  bool ended_ = false;
  mutable std::uint64_t said_ = 0;
  std::string socket_ = "/run/e.sock";
};

class SwitchedStarter final : public engine::Starter {
 public:
  SwitchedStarter(rt::asio::any_io_executor executor, Switches& switches, std::string model)
      : executor_(std::move(executor)), switches_(switches), model_(std::move(model)) {}
  base::Result<std::unique_ptr<engine::EngineProcess>> start() override {
    ++switches_.starts;
    return std::make_unique<SwitchedProcess>(executor_, switches_, model_);
  }

 private:
  rt::asio::any_io_executor executor_;
  Switches& switches_;
  std::string model_;
};

// Lets the loop turn instead of waiting.
class TurningPace final : public engine::Pace {
 public:
  rt::Task<void> pause(base::Duration) override {
    co_await rt::asio::post(co_await rt::asio::this_coro::executor, rt::asio::use_awaitable);
  }
};

class KeeperTest : public artifact::StoreFixture {
 protected:
  KeeperTest() {
    store = open();
    EXPECT_TRUE(import(*store, "a", artifact::GgufSample::model()));
    EXPECT_TRUE(import(*store, "b", artifact::GgufSample::model()));
    make_keeper(true);
  }
  void make_keeper(bool may_lower_niceness) {
    if (keeper) run(stop());
    KeeperParts parts{io.get_executor(),
                      pool,
                      *store,
                      stats,
                      pages,
                      memory,
                      clock,
                      [this](artifact::StoredModel model) { return serve(std::move(model)); },
                      [this](const artifact::StoredModel& of) {
                        return packed_root.empty() ? "" : packed_root + "/" + of.manifest.digest.text() + "-b1-0123";
                      },
                      [](domain::ModelView&) {},
                      [this](const domain::ModelId& of) { return rules[of.text()]; },
                      [this](domain::Event event) { events.push_back(std::move(event)); },
                      [](std::exception_ptr failure) { std::rethrow_exception(failure); }};
    parts.may_lower_niceness = may_lower_niceness;
    keeper.emplace(std::move(parts));
  }
  ~KeeperTest() override { run(stop()); }

  rt::Task<base::Result<Service>> serve(artifact::StoredModel model) {
    if (!engine_installed) co_return base::fail(ErrorCode::not_found, "no engine");
    engine::Supervisor::Parts parts{
        io.get_executor(),
        std::make_unique<SwitchedStarter>(io.get_executor(), switches, model.manifest.id.text()),
        clock,
        pace,
        {},
        [](std::exception_ptr failure) { std::rethrow_exception(failure); }};
    Service service;
    service.supervisor =
        std::make_unique<engine::Supervisor>(model.manifest.id, std::move(parts), engine::SupervisorLimits{});
    service.slots = 2;
    service.reuses_nothing = reuses_nothing;
    co_return service;
  }
  rt::Task<bool> stop() {
    co_await keeper->stop();
    co_return true;
  }

  template <typename T>
  static rt::Task<void> keep(rt::Task<T> task, std::optional<T>& into) {
    into = co_await std::move(task);
  }
  template <typename T>
  T run(rt::Task<T> task) {
    std::optional<T> result;
    rt::asio::co_spawn(io, keep(std::move(task), result), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
    while (!result)
      io.run_one();
    io.restart();
    return std::move(*result);
  }
  std::unique_ptr<Lease> acquired(std::string_view name, domain::Asker asker = {.owner = "ann", .keep_alive = {}}) {
    auto lease = run(keeper->acquire(id(name), std::move(asker)));
    EXPECT_TRUE(lease) << lease.error().message;
    return lease ? std::move(*lease) : nullptr;
  }
  // One request of this client, from its beginning to its end.
  void ask(std::string_view name, const char* owner, std::optional<domain::KeepAlive> keep_alive = {}) {
    (void)acquired(name, {.owner = owner, .keep_alive = keep_alive});
  }
  static domain::KeepAlive lasting(base::Duration span) { return {span}; }
  // Gives what is ready its turn: a start that was waited for lets go of its claims.
  void settle() {
    for (int turn = 0; turn < 100; ++turn)
      io.poll_one();
  }
  void pass_time(base::Duration span) {
    settle();
    clock.advance(span);
    run(cool());
  }
  rt::Task<bool> cool() {
    co_await keeper->cool_what_is_due();
    co_return true;
  }
  base::Status unload(std::string_view name) {
    return run(keeper->unload(id(name), {.owner = "ann", .keep_alive = {}}));
  }

  domain::ModelView view(std::string_view name) { return run(keeper->find(id(name))).value(); }
  static domain::ModelId id(std::string_view name) { return domain::ModelId::parse(name).value(); }

  rt::asio::io_context io;
  rt::BlockingPool pool{1};
  test::ManualClock clock;
  sys::FakeProcStats stats;
  sys::FakePages pages;
  sys::FakeMemory memory;
  TurningPace pace;
  Switches switches;
  bool engine_installed = true;
  bool reuses_nothing = false;
  std::string packed_root;
  std::map<std::string, KeepRule> rules;
  std::vector<domain::Event> events;
  std::unique_ptr<artifact::Store> store;
  std::optional<Keeper> keeper;
};

TEST_F(KeeperTest, OneEngineServesManyRequestsOfItsModel) {
  const auto one = acquired("a");
  const auto two = acquired("a");
  EXPECT_EQ(switches.starts, 1);
  EXPECT_EQ(view("a").state, ModelState::busy);
  EXPECT_EQ(view("a").requests, 2U);
}

TEST_F(KeeperTest, EachModelHasAnEngineOfItsOwn) {
  (void)acquired("a");
  (void)acquired("b");
  EXPECT_EQ(switches.starts, 2);
}

TEST_F(KeeperTest, AModelIsBusyOnlyWhileItIsHeld) {
  EXPECT_EQ(view("a").state, ModelState::cold);
  { const auto lease = acquired("a"); }
  EXPECT_EQ(view("a").state, ModelState::ready);
}

TEST_F(KeeperTest, OnlyWhoWaitedForTheStartSeesIt) {
  domain::RequestObservation first;
  domain::RequestObservation second;
  acquired("a")->describe(first);
  acquired("a")->describe(second);
  EXPECT_TRUE(first.start);
  EXPECT_FALSE(second.start);
}

TEST_F(KeeperTest, TellsWhenEverySlotIsTaken) {
  const auto one = acquired("a");
  const auto two = acquired("a");
  domain::RequestObservation in_a_slot;
  domain::RequestObservation beyond;
  two->describe(in_a_slot);
  acquired("a")->describe(beyond);
  EXPECT_FALSE(in_a_slot.engine_was_busy);
  EXPECT_TRUE(beyond.engine_was_busy);
}

TEST_F(KeeperTest, AnUnknownModelIsNotFound) {
  const auto lease = run(keeper->acquire(id("nothing"), {}));
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, ErrorCode::model_not_found);
}

TEST_F(KeeperTest, AMissingEngineIsLookedForAgainNextTime) {
  engine_installed = false;
  EXPECT_EQ(run(keeper->acquire(id("a"), {})).error().code, ErrorCode::not_found);
  engine_installed = true;
  EXPECT_NE(acquired("a"), nullptr);
}

TEST_F(KeeperTest, AClientThatGivesUpDoesNotStopTheStart) {
  switches.ready = false;
  rt::asio::cancellation_signal leave;
  bool left = false;
  rt::asio::co_spawn(io, keeper->acquire(id("a"), {}),
                     rt::asio::bind_cancellation_slot(leave.slot(), [&](std::exception_ptr, auto) { left = true; }));
  while (view("a").state != ModelState::starting)
    io.run_one();
  EXPECT_TRUE(keeper->oldest_wait());
  leave.emit(rt::asio::cancellation_type::terminal);
  while (!left)
    io.run_one();
  EXPECT_FALSE(keeper->oldest_wait());
  switches.ready = true;
  EXPECT_NE(acquired("a"), nullptr);
  EXPECT_EQ(switches.starts, 1);
}

domain::Asker in_class(domain::ServiceClass service_class) {
  return {.owner = "ann", .keep_alive = {}, .service_class = service_class};
}

TEST_F(KeeperTest, ALowerClassGivesWayOnTheProcessorsWhileItWorks) {
  using enum domain::ServiceClass;
  rules["a"].service_class = rules["b"].service_class = voice;
  auto background_one = acquired("b", in_class(background));
  EXPECT_EQ(switches.niceness["b"], 5);
  const auto voice_one = acquired("a", in_class(voice));
  EXPECT_EQ(switches.niceness["a"], 0);
  {
    const auto with_it = acquired("b", in_class(interactive));
    EXPECT_EQ(switches.niceness["b"], 15);
  }
  settle();
  EXPECT_EQ(switches.niceness["b"], 19);
  background_one.reset();
  settle();
  EXPECT_EQ(switches.niceness["b"], 0) << "what it is told to do now somebody may wait for";
}

TEST_F(KeeperTest, WhereANiceValueCannotBeLoweredTheModelsOwnClassDecides) {
  using enum domain::ServiceClass;
  make_keeper(false);
  rules["b"].service_class = background;
  { const auto lease = acquired("b"); }
  settle();
  EXPECT_EQ(switches.niceness["b"], 10);
  (void)acquired("a", in_class(background));
  EXPECT_EQ(switches.niceness["a"], 0);
}

TEST_F(KeeperTest, AModelInUseIsNotRemoved) {
  const auto lease = acquired("a");
  EXPECT_EQ(run(keeper->remove(id("a"))).error().code, ErrorCode::in_use);
  EXPECT_THAT(run(keeper->list()).value(), SizeIs(2));
}

TEST_F(KeeperTest, RemovingStopsAnIdleEngine) {
  { const auto lease = acquired("a"); }
  EXPECT_TRUE(run(keeper->remove(id("a"))));
  EXPECT_THAT(run(keeper->list()).value(), SizeIs(1));
  EXPECT_EQ(run(keeper->acquire(id("a"), {})).error().code, ErrorCode::model_not_found);
}

TEST_F(KeeperTest, WhatIsFoundDamagedIsServedNoLongerUnderAnyName) {
  { const auto lease = acquired("a"); }
  { const auto lease = acquired("b"); }
  const std::string blob = folder_ + "/blobs/" + names("blobs").front();
  std::string bytes = contents(blob);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  overwrite(blob, bytes);
  // What is measured beside a request may see it first.
  const auto found = run(keeper->verify(id("a")));
  EXPECT_TRUE(!found || found->artifact_fault);
  while (!keeper->with_engine().empty())  // the other name has the same file
    io.run_one();
  io.restart();
  EXPECT_EQ(run(keeper->acquire(id("a"), {})).error().code, ErrorCode::model_not_found);
  ASSERT_TRUE(import(*store, "a", artifact::GgufSample::model()));
  EXPECT_TRUE(acquired("a"));
  EXPECT_EQ(switches.starts, 3);
}

TEST_F(KeeperTest, WithAModelItsPackedWeightsGoUnlessAnotherNameHasTheSameFile) {
  packed_root = root_ + "/packed";
  const auto model = run(keeper->find(id("a"))).value();
  const std::string folder = packed_root + "/" + model.digest->substr(model.digest->find(':') + 1) + "-b1-0123";
  std::filesystem::create_directories(folder);
  EXPECT_TRUE(run(keeper->remove(id("a"))));
  EXPECT_TRUE(std::filesystem::exists(folder));
  EXPECT_TRUE(run(keeper->remove(id("b"))));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(KeeperTest, LayersAreMeasuredNeverGuessed) {
  const auto path = store->find(id("a"))->path;
  const auto size = store->find(id("a"))->manifest.bytes;
  pages.add(path, size, size / 2);
  domain::ModelView cold = view("a");
  EXPECT_EQ(at(cold.layers, Layer::artifact).warmth, Warmth::warm);
  EXPECT_EQ(at(cold.layers, Layer::pages).warmth, Warmth::partial);
  EXPECT_EQ(at(cold.layers, Layer::process).warmth, Warmth::cold);
  EXPECT_EQ(at(cold.layers, Layer::weights).warmth, Warmth::cold);
  EXPECT_FALSE(at(cold.layers, Layer::kernels).warmth);
  (void)acquired("a");
  const domain::ModelView warm = view("a");
  EXPECT_EQ(at(warm.layers, Layer::process).warmth, Warmth::warm);
  EXPECT_FALSE(at(warm.layers, Layer::weights).warmth) << "nothing measures them in a stock engine";
}

TEST_F(KeeperTest, WhatEarlierRunsSawMayBeKnownLate) {
  keeper->await_past();
  EXPECT_FALSE(view("a").ready_in_ms) << "nobody knows yet";
  auto learner = keeper->learner();
  timeline::RequestRow row;
  row.at = clock.wall() - std::chrono::hours(1);
  row.total_ms = 1;
  row.start_ms = 4000;
  for (const auto* model : {"a", "b"}) {
    row.model = model;
    learner.see(row);
  }
  const auto lease = acquired("a");
  keeper->remember(learner.lessons());
  EXPECT_EQ(view("a").state, domain::ModelState::busy);
  EXPECT_EQ(view("a").expected->reuse, 1) << "it is in use, whatever the past says";
  ask("b", "ann");
  ASSERT_TRUE(unload("b"));
  EXPECT_EQ(view("b").ready_in_ms, 4000) << "the engine here starts in no time, so the past is the larger half";
}

TEST_F(KeeperTest, TheRequestIsToldTheLayersAsTheyWereBefore) {
  domain::RequestObservation seen;
  const auto lease = acquired("a");
  (void)view("a");  // gives the measuring beside the request its turn
  while (io.poll_one() > 0) {
  }
  lease->conclude(seen, true);
  EXPECT_EQ(at(seen.before, Layer::process).warmth, Warmth::cold);
}

TEST_F(KeeperTest, AnIdleModelIsStoppedWhenItsTimeIsUp) {
  ask("a", "ann", lasting(10s));
  pass_time(9s);
  EXPECT_EQ(view("a").state, ModelState::ready);
  pass_time(1s);
  EXPECT_EQ(view("a").state, ModelState::cold);
  EXPECT_THAT(events, testing::Contains(testing::Field(&domain::Event::what, "keep_alive_over")));
}

TEST_F(KeeperTest, WithoutAWishOrARuleItStays) {
  ask("a", "ann");
  pass_time(24h * 365);
  EXPECT_EQ(view("a").state, ModelState::ready);
  EXPECT_TRUE(view("a").keep.forever);
  EXPECT_EQ(view("a").keep.source, domain::KeepSource::config);
}

TEST_F(KeeperTest, TheConfigurationKeepsForThoseWhoSayNothing) {
  rules["a"].otherwise = lasting(5min);
  ask("a", "ann");
  pass_time(5min);
  EXPECT_EQ(view("a").state, ModelState::cold);
}

TEST_F(KeeperTest, TheLongestWishWinsAndEveryVoteIsTold) {
  rules["a"].otherwise = lasting(1min);
  ask("a", "ann", lasting(2h));
  ask("a", "bob");
  ask("a", "cleo", lasting(10s));
  const auto keep = view("a").keep;
  ASSERT_THAT(keep.votes, SizeIs(3));
  EXPECT_EQ(keep.votes[1].source, domain::KeepSource::config);
  EXPECT_EQ(keep.source, domain::KeepSource::request);
  EXPECT_EQ(keep.until, clock.wall() + 2h);
  pass_time(90s);
  EXPECT_EQ(view("a").state, ModelState::ready);
  EXPECT_THAT(view("a").keep.votes, SizeIs(1)) << "those whose time is up are not told";
  pass_time(2h);
  EXPECT_EQ(view("a").state, ModelState::cold);
}

TEST_F(KeeperTest, ARequestWithoutAWishRenewsItsOwnersVote) {
  ask("a", "ann", lasting(1h));
  clock.advance(50min);
  ask("a", "ann");
  EXPECT_EQ(view("a").keep.until, clock.wall() + 1h);
}

TEST_F(KeeperTest, TimeRunsFromTheEndOfTheRequest) {
  auto lease = acquired("a", {.owner = "ann", .keep_alive = lasting(10s)});
  pass_time(1h);
  EXPECT_EQ(view("a").state, ModelState::busy) << "a busy model is never stopped";
  lease.reset();
  pass_time(9s);
  EXPECT_EQ(view("a").state, ModelState::ready);
  pass_time(1s);
  EXPECT_EQ(view("a").state, ModelState::cold);
}

TEST_F(KeeperTest, ZeroUnloadsWhenTheRequestEnds) {
  ask("a", "ann", lasting(2h));
  auto lease = acquired("a", {.owner = "bob", .keep_alive = lasting(0s)});
  pass_time(0s);
  EXPECT_EQ(view("a").state, ModelState::busy);
  lease.reset();
  pass_time(0s);
  EXPECT_EQ(view("a").state, ModelState::cold);
}

TEST_F(KeeperTest, AnExplicitUnloadWinsOverEveryVote) {
  ask("a", "ann", domain::KeepAlive::forever());
  EXPECT_TRUE(unload("a"));
  EXPECT_EQ(view("a").state, ModelState::cold);
  EXPECT_THAT(view("a").keep.votes, SizeIs(0));
}

TEST_F(KeeperTest, AnUnloadWaitsForARunningRequest) {
  auto lease = acquired("a", {.owner = "ann", .keep_alive = lasting(1h)});
  EXPECT_TRUE(unload("a"));
  pass_time(0s);
  EXPECT_EQ(view("a").state, ModelState::busy);
  lease.reset();
  pass_time(0s);
  EXPECT_EQ(view("a").state, ModelState::cold);
}

TEST_F(KeeperTest, WhereNothingMayBeReusedEveryRequestSaysSo) {
  const auto sent = [this](std::string_view name) {
    domain::RequestObservation observation;
    return run(acquired(name)->fit("/v1/completions", R"({"prompt":"x","cache_prompt":true})", observation));
  };
  EXPECT_EQ(sent("a"), R"({"prompt":"x","cache_prompt":true})");
  reuses_nothing = true;
  EXPECT_EQ(sent("b"), R"({"prompt":"x","cache_prompt":false})");
}

TEST_F(KeeperTest, UnloadingWhatIsNotLoadedIsNoError) {
  EXPECT_TRUE(unload("a"));
  EXPECT_EQ(unload("nothing").error().code, ErrorCode::model_not_found);
}

TEST_F(KeeperTest, AnUnloadOfWhatIsNotLoadedDoesNotOutliveItsMoment) {
  ask("a", "ann", lasting(1h));
  EXPECT_TRUE(unload("a"));
  EXPECT_TRUE(unload("a"));
  const domain::Asker ann{.owner = "ann", .keep_alive = lasting(1h)};
  EXPECT_TRUE(run(keeper->change(id("a"), domain::LayerAction::warm, std::nullopt, ann)));
  pass_time(1min);
  EXPECT_EQ(view("a").state, ModelState::ready);
}

TEST_F(KeeperTest, APinnedModelStays) {
  rules["a"] = {.otherwise = lasting(1s), .pinned = true};
  ask("a", "ann", lasting(0s));
  pass_time(1h);
  EXPECT_EQ(view("a").state, ModelState::ready);
  const auto refused = unload("a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::pinned_conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("model a"));
}

TEST_F(KeeperTest, AStartWhoseClientLeftIsKeptAsThatClientWished) {
  switches.ready = false;
  rt::asio::cancellation_signal leave;
  bool left = false;
  rt::asio::co_spawn(io, keeper->acquire(id("a"), {.owner = "ann", .keep_alive = lasting(10s)}),
                     rt::asio::bind_cancellation_slot(leave.slot(), [&](std::exception_ptr, auto) { left = true; }));
  while (view("a").state != ModelState::starting)
    io.run_one();
  leave.emit(rt::asio::cancellation_type::terminal);
  while (!left)
    io.run_one();
  pass_time(30s);
  EXPECT_EQ(view("a").state, ModelState::starting);
  switches.ready = true;
  while (view("a").state != ModelState::ready)
    io.run_one();
  pass_time(9s);
  EXPECT_EQ(view("a").state, ModelState::ready) << "its ten seconds count from when it was ready";
  pass_time(1s);
  EXPECT_EQ(view("a").state, ModelState::cold);
}

TEST_F(KeeperTest, WarmingVotesAndCoolingEndsEveryVote) {
  const domain::Asker ann{.owner = "ann", .keep_alive = lasting(1h)};
  EXPECT_TRUE(run(keeper->change(id("a"), domain::LayerAction::warm, std::nullopt, ann)));
  EXPECT_EQ(view("a").keep.source, domain::KeepSource::api);
  EXPECT_EQ(view("a").keep.until, clock.wall() + 1h);
  EXPECT_TRUE(run(keeper->change(id("a"), domain::LayerAction::cool, Layer::process, ann)));
  EXPECT_FALSE(view("a").keep.source);
}

}  // namespace
}  // namespace hearth::keeper
