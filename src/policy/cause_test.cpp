#include "policy/cause.h"

#include <gtest/gtest.h>

#include <functional>

namespace hearth::policy {
namespace {

using domain::Confidence;
using domain::Layer;
using domain::RemedyAction;
using domain::Source;
using domain::Stage;

const base::Mono kReceived{std::chrono::hours(9)};
const base::Wall kStartedAt{std::chrono::milliseconds(1'700'000'000'000)};
base::Mono at(double ms) { return kReceived + base::from_ms(ms); }
base::Wall ago(int seconds) { return kStartedAt - std::chrono::seconds(seconds); }

std::vector<domain::StageSpan> stages_of(const std::vector<std::pair<Stage, double>>& parts) {
  std::vector<domain::StageSpan> stages;
  for (const Stage stage : domain::kAllStages) {
    domain::StageSpan span{.stage = stage};
    if (stage == Stage::storage_read) span.source = Source::kernel;
    if (stage == Stage::prefill) span.source = Source::engine;
    for (const auto& [named, ms] : parts) {
      if (named == stage) span.ms = span.critical_ms = ms;
    }
    stages.push_back(span);
  }
  return stages;
}

domain::RequestObservation observation_of(bool started) {
  domain::RequestObservation seen;
  seen.model = domain::ModelId::parse("mini").value();
  seen.status = 200;
  seen.started_at = kStartedAt;
  seen.received = kReceived;
  seen.asked = at(1);
  seen.timings = {
      .cached_tokens = 0, .prompt_tokens = 20, .prompt_ms = 100, .generated_tokens = 30, .generated_ms = 900};
  if (started) {
    seen.start = {.spawned = at(2),
                  .listening = at(100),
                  .ready = at(900),
                  .blocked_on_storage = base::from_ms(1),
                  .bytes_read = 703,
                  .major_faults = 12};
  }
  return seen;
}

domain::Event event_of(std::uint64_t id, std::string what, int seconds_ago, std::string model = "mini") {
  domain::Event event;
  event.id = id;
  event.at = ago(seconds_ago);
  event.what = std::move(what);
  event.model = std::move(model);
  return event;
}

struct Situation {
  std::string name;
  bool started;
  std::vector<std::pair<Stage, double>> stages;
  std::function<void(domain::RequestObservation&)> change;
  std::optional<Layer> layer;
  Confidence confidence = Confidence::measured;
  RemedyAction action = RemedyAction::accept;
  std::optional<double> saves_ms;
};

const auto kUnchanged = [](domain::RequestObservation&) {};

std::vector<Situation> situations() {
  using enum Stage;
  return {
      {"warm", false, {{prefill, 150}, {queue, 1}, {first_decode, 20}, {decode, 900}}, kUnchanged, {}, {}, {}, {}},
      {"only queued", false, {{queue, 5000}, {prefill, 100}}, kUnchanged, {}, {}, {}, {}},
      {"nothing but decode", false, {{decode, 9000}}, kUnchanged, {}, {}, {}, {}},
      {"nothing at all", false, {}, kUnchanged, {}, {}, {}, {}},
      {"process",
       true,
       {{process_start, 300}, {weights_load, 20}, {prefill, 80}},
       kUnchanged,
       Layer::process,
       Confidence::measured,
       RemedyAction::keep_longer,
       320},
      {"weights",
       true,
       {{process_start, 90}, {storage_read, 200}, {weights_load, 3000}, {prefill, 180}},
       kUnchanged,
       Layer::weights,
       Confidence::measured,
       RemedyAction::keep_longer,
       3290},
      {"pages",
       true,
       {{process_start, 90}, {storage_read, 4000}, {weights_load, 900}},
       kUnchanged,
       Layer::pages,
       Confidence::measured,
       RemedyAction::prefetch,
       4000},
      {"pages, joined late",
       true,
       {{storage_read, 4000}, {weights_load, 900}},
       [](auto& seen) { seen.start->spawned = at(-500); },
       Layer::pages,
       Confidence::inferred,
       RemedyAction::prefetch,
       4000},
      {"process, joined late",
       true,
       {{process_start, 4000}, {weights_load, 900}},
       [](auto& seen) { seen.start->spawned = at(-500); },
       Layer::process,
       Confidence::measured,
       RemedyAction::keep_longer,
       4900},
      {"small cold start",
       true,
       {{process_start, 40}, {weights_load, 30}, {prefill, 8}},
       kUnchanged,
       Layer::process,
       Confidence::measured,
       RemedyAction::accept,
       {}},
      {"tiny cold start", true, {{process_start, 4.9}}, kUnchanged, {}, {}, {}, {}},
      {"a tenth is too little", true, {{process_start, 100}, {queue, 900}}, kUnchanged, {}, {}, {}, {}},
      {"a little more is enough",
       true,
       {{process_start, 101}, {queue, 899}},
       kUnchanged,
       Layer::process,
       Confidence::measured,
       RemedyAction::keep_longer,
       101},
      {"decode does not water it down",
       true,
       {{process_start, 101}, {decode, 90000}},
       kUnchanged,
       Layer::process,
       Confidence::measured,
       RemedyAction::keep_longer,
       101},
      {"long prompt that nothing knew",
       false,
       {{prefill, 6000}, {decode, 900}},
       [](auto& seen) { seen.timings->prompt_tokens = 1150; },
       Layer::prefix,
       Confidence::inferred,
       RemedyAction::prefix,
       {}},
      {"long prompt that was mostly known",
       false,
       {{prefill, 600}},
       [](auto& seen) {
         seen.timings->prompt_tokens = 150;
         seen.timings->cached_tokens = 1000;
       },
       {},
       {},
       {},
       {}},
      {"read from storage while it ran",
       false,
       {{prefill, 600}},
       [](auto& seen) { seen.process = domain::ProcessDelta{.bytes_read = 600'000'000, .major_faults = 900}; },
       Layer::pages,
       Confidence::inferred,
       RemedyAction::pages_headroom,
       {}},
      {"an old start is none of its affair",
       true,
       {{prefill, 600}},
       [](auto& seen) {
         seen.start->spawned = at(-9000);
         seen.start->ready = at(-8000);
         seen.process = domain::ProcessDelta{.bytes_read = 600'000'000, .major_faults = 900};
       },
       Layer::pages,
       Confidence::inferred,
       RemedyAction::pages_headroom,
       {}},
      {"a few pages read are nothing",
       false,
       {{prefill, 600}},
       [](auto& seen) { seen.process = domain::ProcessDelta{.bytes_read = 4096, .major_faults = 1}; },
       {},
       {},
       {},
       {}},
      {"start failed", true, {{process_start, 3000}}, [](auto& seen) { seen.status = 502; }, {}, {}, {}, {}},
      {"client gave up waiting",
       true,
       {{process_start, 3000}},
       [](auto& seen) { seen.status = 499; },
       Layer::process,
       Confidence::measured,
       RemedyAction::keep_longer,
       3000},
      {"kernels",
       true,
       {{kernel_compile, 8000}, {device_upload, 900}},
       kUnchanged,
       Layer::kernels,
       Confidence::measured,
       RemedyAction::kernels,
       8000},
      {"no timings", false, {{prefill, 600}}, [](auto& seen) { seen.timings.reset(); }, {}, {}, {}, {}},
  };
}

TEST(Cause, OfEachSituation) {
  for (const auto& situation : situations()) {
    SCOPED_TRACE(situation.name);
    auto seen = observation_of(situation.started);
    situation.change(seen);
    const auto cause = find_cause(seen, stages_of(situation.stages), {});
    ASSERT_EQ(cause.has_value(), situation.layer.has_value());
    if (!cause) continue;
    EXPECT_EQ(cause->layer, *situation.layer);
    EXPECT_EQ(cause->confidence, situation.confidence);
    EXPECT_EQ(cause->remedy.action, situation.action);
    EXPECT_EQ(cause->remedy.saves_ms.has_value(), situation.saves_ms.has_value());
    EXPECT_DOUBLE_EQ(cause->remedy.saves_ms.value_or(0), situation.saves_ms.value_or(0));
    EXPECT_FALSE(cause->remedy.detail.empty());
    EXPECT_GT(cause->share, 0.1);
    EXPECT_LE(cause->share, 1);
  }
}

TEST(Cause, ShareIsOfTheTimeBeforeTheFirstToken) {
  const auto cause = find_cause(
      observation_of(true), stages_of({{Stage::process_start, 300}, {Stage::prefill, 100}, {Stage::decode, 999}}), {});
  EXPECT_DOUBLE_EQ(cause->ms, 300);
  EXPECT_DOUBLE_EQ(cause->share, 0.75);
}

TEST(Cause, EvidenceIsOfTheStartOrElseOfTheProcess) {
  auto seen = observation_of(true);
  seen.process = domain::ProcessDelta{.bytes_read = 1, .major_faults = 2};
  const auto cold = stages_of({{Stage::weights_load, 3000}});
  EXPECT_EQ(find_cause(seen, cold, {})->bytes_read, 703U);
  EXPECT_EQ(find_cause(seen, cold, {})->major_faults, 12U);
  seen.start->bytes_read.reset();
  EXPECT_FALSE(find_cause(seen, cold, {})->bytes_read);
}

std::vector<domain::CausalEvent> because(const std::vector<domain::Event>& history, Stage stage = Stage::weights_load,
                                         bool started = true) {
  auto seen = observation_of(started);
  if (!started) seen.timings->prompt_tokens = 5000;
  return find_cause(seen, stages_of({{stage, 3000}}), history).value().because;
}

TEST(CauseBecause, NeverStartedSinceTheServerCameUp) {
  for (const Stage stage : {Stage::process_start, Stage::weights_load, Stage::storage_read}) {
    ASSERT_EQ(because({}, stage).size(), 1U);
    EXPECT_EQ(because({}, stage).front().event, kNeverStarted);
  }
  EXPECT_EQ(because({event_of(1, "artifact_imported", 60)}).front().event, kNeverStarted);
  EXPECT_EQ(because({event_of(1, "process_stopped", 60, "other")}).front().event, kNeverStarted);
  // The start of this very request, written down when it was ready.
  EXPECT_EQ(because({event_of(1, "process_started", -1)}).front().event, kNeverStarted);
}

TEST(CauseBecause, AHistoryThatLostItsBeginningProvesNothing) {
  EXPECT_TRUE(because({event_of(7, "process_stopped", 60, "other")}).empty());
}

TEST(CauseBecause, TheLastEventThatCooledThisModel) {
  auto stopped = event_of(3, "process_stopped", 40);
  stopped.by = "server";
  stopped.why = "idle for 300 s";
  const auto events = because({event_of(1, "process_failed", 90), event_of(2, "process_started", 80), stopped,
                               event_of(4, "process_stopped", 30, "other"), event_of(5, "process_stopped", -60)});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].event, "process_stopped");
  EXPECT_EQ(events[0].at, base::rfc3339(ago(40)));
  EXPECT_EQ(events[0].by, "server, idle for 300 s");
  EXPECT_FALSE(events[0].for_whom);
}

TEST(CauseBecause, AnEvictionNamesWhoNeededTheRoom) {
  auto stopped = event_of(1, "process_stopped", 40);
  stopped.by = "request 01hzy";
  stopped.why = "memory was needed for model b";
  const auto events = because({stopped});
  EXPECT_EQ(events.at(0).by, "memory was needed for model b");
  EXPECT_EQ(events.at(0).for_whom, "request 01hzy");
}

// The stop is written down first and by the engine's keeper, who does not know for whom it was.
TEST(CauseBecause, WhoEvictedTheProcessEvictedItsWeights) {
  auto evicted = event_of(2, "evicted", 39);
  evicted.layer = Layer::process;
  evicted.by = "request for b";
  evicted.why = "2 GB were needed";
  const auto history = {event_of(1, "process_stopped", 40), evicted};
  for (const Stage stage : {Stage::process_start, Stage::weights_load})
    EXPECT_EQ(because(history, stage).at(0).for_whom, "request for b");
}

TEST(CauseBecause, AStopThatTheRequestWaitedForCounts) {
  auto stopped = event_of(1, "process_stopped", 0);
  stopped.at = kStartedAt + std::chrono::milliseconds(2);  // the engine was spawned just after it
  EXPECT_EQ(because({stopped}).at(0).event, "process_stopped");
}

TEST(CauseBecause, PagesAreCooledByTheirOwnEventsOnly) {
  EXPECT_TRUE(because({event_of(1, "process_stopped", 40)}, Stage::storage_read).empty());
  auto cooled = event_of(2, "cooled", 30);
  cooled.layer = Layer::pages;
  EXPECT_EQ(because({event_of(1, "process_stopped", 40), cooled}, Stage::storage_read).at(0).event, "cooled");
}

TEST(CauseBecause, APrefixIsLostWithTheProcessOnlyIfThatHadToStart) {
  EXPECT_TRUE(because({event_of(1, "process_stopped", 40)}, Stage::prefill, false).empty());
}

TEST(Cause, PagesThatLeftNeedHeadroom) {
  auto cooled = event_of(1, "evicted", 30);
  cooled.layer = Layer::pages;
  const std::vector<domain::Event> history = {cooled};
  const auto cause = find_cause(observation_of(true), stages_of({{Stage::storage_read, 3000}}), history);
  EXPECT_EQ(cause->remedy.action, RemedyAction::pages_headroom);
}

TEST(Cause, IsAddedToARecord) {
  domain::RequestRecord record;
  record.stages = stages_of({{Stage::process_start, 300}});
  add_cause(record, observation_of(true), {});
  EXPECT_EQ(record.cause->layer, Layer::process);
}

}  // namespace
}  // namespace hearth::policy
