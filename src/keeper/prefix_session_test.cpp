// The session over a store in memory and an engine in the loop of the test.
#include "keeper/prefix_session.h"

#include <gmock/gmock.h>

#include <boost/asio/detached.hpp>

#include "keeper/prefix_tier.h"
#include "keeper/scripted_engine.h"
#include "sys/fake_machine.h"

namespace hearth::keeper {
namespace {

using domain::Json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPath = "/v1/completions";
constexpr const char* kFolder = "/prefix/states/";

class PrefixSessionTest : public testing::Test, public prefix::StoreFixture {
 protected:
  PrefixSessionTest() {
    EXPECT_TRUE(open());
    EXPECT_TRUE(store->folder_for(plan.fingerprint));
  }
  ~PrefixSessionTest() override {
    io.poll();  // what is under way uses the engine
    engine.reset();
    io.poll();
  }

  // A process in which nothing is held.
  PrefixSession& begin() {
    if (!session) {
      PrefixSession::Parts parts{*store,
                                 pool,
                                 pages,
                                 clock,
                                 [this] { return declared; },
                                 [this](const std::string&, const std::string& name) {
                                   return std::ranges::find(declared, name, &DeclaredPrefix::name) != declared.end();
                                 },
                                 [this](domain::Event event) { events.push_back(std::move(event)); }};
      session = std::make_shared<PrefixSession>(plan, std::move(parts));
      engine = std::make_unique<ScriptedEngine>(io, files, kFolder + plan.fingerprint);
      engine->slots = plan.slots;
    }
    engine->held.clear();
    session->attach(engine->socket_path(), ++generation);
    return *session;
  }
  void declare(const std::string& name, const std::string& text) {
    declared.push_back({PrefixTier::id_of(plan.model, name), plan.model, name, Json{{"prompt", text}}, false});
  }
  static std::string text_of(char letter, std::size_t bytes) {
    std::string text;
    for (std::size_t at = 0; at < bytes; ++at)
      text += static_cast<char>(at % 7 == 0 ? letter : 'a' + (at % 23));
    return text;
  }
  static std::string prompt(const std::string& text) { return Json{{"prompt", text}}.dump(); }
  // One whose slot the engine chooses.
  static std::string of_two_answers() { return Json{{"prompt", "two"}, {"n", 2}}.dump(); }

  template <typename T>
  static rt::Task<void> keep(rt::Task<T> task, std::optional<T>& into) {
    into = co_await std::move(task);
  }
  static rt::Task<void> tell_end(rt::Task<void> task, bool& ended) {
    co_await std::move(task);
    ended = true;
  }
  void spawn(rt::Task<void> task) {
    rt::asio::co_spawn(io, std::move(task), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
  }
  template <typename T>
  T run(rt::Task<T> task) {
    std::optional<T> result;
    spawn(keep(std::move(task), result));
    while (!result)
      io.run_one();
    return std::move(*result);
  }
  void run(rt::Task<void> task) {
    bool ended = false;
    spawn(tell_end(std::move(task), ended));
    while (!ended)
      io.run_one();
  }
  void settle() { run(session->settle(false)); }

  std::string fit(PromptUse& use, const std::string& body) {
    domain::PrefixObservation seen;
    return run(session->fit(kPath, body, use, seen));
  }
  // What a request that the engine places does to the session, where no test may wait.
  void begin_stranger(PromptUse& use) {
    fitted.clear();
    spawn(stranger(use));
    while (std::ranges::find(fitted, &use) == fitted.end())
      io.poll_one();
  }
  rt::Task<void> stranger(PromptUse& use) {
    domain::PrefixObservation seen;
    (void)co_await session->fit(kPath, of_two_answers(), use, seen);
    fitted.push_back(&use);
  }
  // In the midst of the first such call of the engine.
  void on_first(std::string_view action, std::function<void()> act) {
    engine->on_call = [action, act = std::move(act), done = false](const std::string& target) mutable {
      if (done || !target.ends_with(action)) return;
      done = true;
      act();
    };
  }
  void answered(PromptUse& use, std::int64_t cached, std::int64_t evaluated) {
    domain::RequestObservation observation;
    observation.timings = domain::EngineTimings{
        .cached_tokens = cached, .prompt_tokens = evaluated, .prompt_ms = 5 * static_cast<double>(evaluated)};
    session->conclude(use, observation);
  }
  [[nodiscard]] auto times_told(std::string_view what) const {
    return std::ranges::count(events, what, &domain::Event::what);
  }
  [[nodiscard]] std::optional<std::string> ineffective() const { return session->ineffective(); }

  rt::asio::io_context io;
  rt::BlockingPool pool{1};
  sys::FakePages pages;
  PrefixPlan plan{.model = domain::ModelId::parse("m").value(),
                  .model_digest = "digest",
                  .engine = "llama-server-1",
                  .engine_build = "b1",
                  .fingerprint = prefix::kFingerprint,
                  .slots = 1,
                  .exact = false,
                  .rule = {}};
  std::vector<DeclaredPrefix> declared;
  std::uint64_t generation = 0;
  std::vector<PromptUse*> fitted;
  std::shared_ptr<PrefixSession> session;
  std::unique_ptr<ScriptedEngine> engine;
};

TEST_F(PrefixSessionTest, WhatIsDeclaredIsComputedWhenTheModelIsIdle) {
  declare("home", text_of('h', 600));
  begin();
  settle();
  EXPECT_EQ(store->size(), 1U);
  EXPECT_TRUE(session->stored(declared[0].id));
  EXPECT_GT(session->held().tokens_memory, 0U);
}

TEST_F(PrefixSessionTest, IdleWorkGivesWayToWhoeverWantsTheMemory) {
  declare("home", text_of('h', 600));
  begin();
  session->work_only_while([this] { return engine->evaluations() < 2; });
  settle();
  EXPECT_EQ(engine->evaluations(), 2);
  EXPECT_EQ(store->size(), 0U);
  EXPECT_FALSE(session->why_not_stored(declared[0].id));
  EXPECT_TRUE(session->gave_way_to_others());
  settle();
  EXPECT_EQ(engine->evaluations(), 2);
  ASSERT_TRUE(run(session->warm()));  // on purpose
  EXPECT_EQ(store->size(), 1U);
}

TEST_F(PrefixSessionTest, WhoeverTakesTheWeightsAwayWaitsForTheStepUnderWay) {
  declare("home", text_of('h', 600));
  begin();
  on_first("/completion", [this] { session->pause_work(); });
  bool settled = false;
  spawn(tell_end(session->settle(false), settled));
  while (engine->evaluations() == 0)
    io.run_one();
  run(session->work_ended());
  EXPECT_TRUE(settled);
  EXPECT_EQ(engine->evaluations(), 1);
  session->resume_work();
  settle();
  EXPECT_EQ(store->size(), 1U);
}

TEST_F(PrefixSessionTest, ARestoreThatARequestOfTheEnginesChoiceCameBetweenIsNotJudged) {
  declare("home", text_of('h', 600));
  begin();
  settle();
  begin();
  const std::string body = prompt(text_of('h', 600) + " and then something else");
  PromptUse other;
  {
    PromptUse use;
    on_first("restore", [&] { begin_stranger(other); });
    EXPECT_THAT(fit(use, body), HasSubstr("id_slot"));
    answered(use, 0, 620);
    EXPECT_EQ(engine->restores(), 1);
    EXPECT_FALSE(ineffective());
    EXPECT_EQ(session->held().tokens_memory, 0U);
  }
}

TEST_F(PrefixSessionTest, AnEngineThatDoesNotUseWhatItRestoresIsFoundOutAtOnce) {
  declare("home", text_of('h', 600));
  begin();
  settle();
  begin();
  PromptUse use;
  EXPECT_THAT(fit(use, prompt(text_of('h', 600) + " and then something else")), HasSubstr("id_slot"));
  answered(use, 0, 620);
  EXPECT_TRUE(ineffective());
}

TEST_F(PrefixSessionTest, WhatASlotHoldsIsNotKnownOnceTheEngineChoseItForAnother) {
  declare("home", text_of('h', 600));
  begin();
  on_first("save", [this] {
    PromptUse other;
    begin_stranger(other);
  });
  settle();
  EXPECT_EQ(store->size(), 1U);
  EXPECT_EQ(engine->restores(), 1);  // for it is not in the slot
  begin();
  on_first("restore", [this] {
    PromptUse other;
    begin_stranger(other);
  });
  settle();
  EXPECT_EQ(session->held().tokens_memory, 0U);
  begin();
  settle();
  EXPECT_GT(session->held().tokens_memory, 0U);
}

TEST_F(PrefixSessionTest, WhatARequestLeftIsForgottenWhereAnotherCameBeforeItLetGo) {
  declare("home", text_of('h', 600));
  begin();
  settle();
  begin();
  PromptUse other;
  {
    PromptUse use;
    EXPECT_THAT(fit(use, prompt(text_of('h', 600) + " and then something else")), HasSubstr("id_slot"));
    answered(use, 600, 20);
    EXPECT_GT(session->held().tokens_memory, 0U);
    begin_stranger(other);  // before the first lets go
    PromptUse next;
    EXPECT_THAT(fit(next, prompt(text_of('h', 600))), Not(HasSubstr("id_slot")));
  }
  EXPECT_EQ(session->held().tokens_memory, 0U);
}

TEST_F(PrefixSessionTest, WhoeverLeavesBeforeASlotIsChosenIsNotCountedAsAnother) {
  begin();
  domain::PrefixObservation seen;
  auto leaving = std::make_unique<PromptUse>();
  auto loop = std::make_unique<rt::asio::io_context>();
  rt::asio::co_spawn(*loop, session->fit(kPath, prompt("left alone"), *leaving, seen), rt::asio::detached);
  loop->poll();  // it has asked the engine
  PromptUse other;
  begin_stranger(other);
  loop.reset();
  leaving.reset();
  PromptUse next;
  EXPECT_THAT(fit(next, prompt("next")), Not(HasSubstr("id_slot")));
}

TEST_F(PrefixSessionTest, WhatCannotBeKeptIsEvaluatedAndToldOnceAProcess) {
  declare("home", text_of('h', 600));
  begin();
  engine->writes_known_form = false;
  settle();
  const auto evaluated = engine->evaluations();
  EXPECT_GT(evaluated, 0);
  ASSERT_TRUE(session->why_not_stored(declared[0].id));
  settle();
  EXPECT_EQ(engine->evaluations(), evaluated);
  EXPECT_EQ(times_told("prefix_save_failed"), 1);
  engine->writes_known_form = true;
  begin();
  settle();
  EXPECT_EQ(store->size(), 1U);
  EXPECT_FALSE(session->why_not_stored(declared[0].id));
}

TEST_F(PrefixSessionTest, WhatIsDeclaredDoesNotPushOutWhatElseIs) {
  limits.disk = 12'000;  // one of 600 tokens takes about 8,300
  ASSERT_TRUE(open());
  declare("one", text_of('x', 600));
  begin();
  settle();
  ASSERT_TRUE(session->stored(declared[0].id));
  declare("two", text_of('y', 600));
  const auto evaluated = engine->evaluations();
  settle();
  settle();
  EXPECT_TRUE(session->stored(declared[0].id));
  EXPECT_EQ(engine->evaluations(), evaluated);
  EXPECT_THAT(session->why_not_stored(declared[1].id).value_or(""), HasSubstr("[prefix] disk allows"));
  EXPECT_EQ(times_told("prefix_save_failed"), 1);
  declared.erase(declared.begin());  // the first is nobody's any more
  settle();
  EXPECT_TRUE(session->stored(declared[0].id));
}

TEST_F(PrefixSessionTest, PromptsWithoutTokensAreNoBeginnings) {
  begin();
  engine->tokenizes = false;
  for (int time = 0; time < 2; ++time) {
    PromptUse use;
    EXPECT_THAT(fit(use, prompt("")), HasSubstr("id_slot"));
    answered(use, 0, 1);
  }
  settle();
  EXPECT_EQ(store->size(), 0U);
}

TEST_F(PrefixSessionTest, DeclarationsThatComeTogetherAreWrittenOneAfterTheOther) {
  PrefixTier tier({std::move(store), "/prefix/declared.json", files, pool, pages, clock, {}, [](domain::Event) {}});
  const int before = files.changes();
  std::vector<std::optional<base::Result<domain::PrefixView>>> views(3);
  for (std::size_t at = 0; at < views.size(); ++at)
    spawn(keep(tier.declare(plan.model, "name" + std::to_string(at), Json{{"prompt", "x"}}), views[at]));
  const auto open = [](const auto& view) { return !view.has_value(); };
  while (std::ranges::any_of(views, open))
    io.run_one();
  EXPECT_TRUE(std::ranges::all_of(views, [](const auto& view) { return view->has_value(); }));
  // Create, write, sync, rename and sync the folder: once for the first, and once for the two that waited.
  EXPECT_EQ(files.changes() - before, 10);
  const std::string kept = files.read("/prefix/declared.json", 10'000).value();
  EXPECT_THAT(kept, testing::AllOf(HasSubstr("name0"), HasSubstr("name1"), HasSubstr("name2")));
}

}  // namespace
}  // namespace hearth::keeper
