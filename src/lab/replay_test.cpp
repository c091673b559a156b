#include "lab/replay.h"

#include <gtest/gtest.h>

#include "lab/experiment.h"
#include "lab/synthetic.h"

namespace hearth::lab {
namespace {

using domain::ServiceClass;

constexpr base::Bytes kGB = 1'000'000'000;

TraceModel model_of(std::string_view name, double gb, ServiceClass service_class = ServiceClass::interactive) {
  return {domain::ModelId::parse(name).value(), service_class, {gb, 0.1, 0.1}};
}

TraceRequest ask(double at_s, std::uint32_t model, float busy_s = 1) {
  return {static_cast<std::int64_t>(at_s * 1e9), model, 0, 0, busy_s};
}

Contestant named(std::string_view name) {
  const auto all = all_contestants();
  return *std::ranges::find(all, name, &Contestant::name);
}

ReplayResult run(const Trace& trace, std::string_view name, double gb) {
  ReplaySetup setup{.contestant = named(name), .memory = policy::Footprint::host(static_cast<base::Bytes>(gb * 1e9))};
  return replay(trace, setup);
}

// By hand: a stock start takes 1.2 s + 3.585 s a GB; packed 1.2 + 0.597; a wake 0.626.
TEST(Replay, AColdStartTakesWhatWasMeasured) {
  const Trace trace{.name = "t", .models = {model_of("a", 1)}, .requests = {ask(0, 0), ask(10, 0), ask(5000, 0)}};
  const auto peer = run(trace, "peer-lru", 4);
  EXPECT_EQ(peer.cold_starts, 1U);
  EXPECT_NEAR(peer.cold_start_s, 1.2 + 2.52 / 0.703, 1e-6);
  EXPECT_EQ(run(trace, "peer-ttl", 4).cold_starts, 2U) << "unloaded after five minutes";
  EXPECT_NEAR(run(trace, "lru", 4).cold_start_s, 1.2 + 0.42 / 0.703, 1e-6);
}

TEST(Replay, WhoeverComesDuringALoadWaitsForTheRestOfIt) {
  const Trace trace{.name = "t", .models = {model_of("a", 1)}, .requests = {ask(0, 0), ask(1, 0)}};
  const double load = 1.2 + 0.42 / 0.703;
  const auto result = run(trace, "lru", 4);
  EXPECT_EQ(result.loads, 1U);
  EXPECT_NEAR(result.cold_start_s, load + load - 1, 1e-6);
}

TEST(Replay, WhatWasMeasuredOfAModelWinsAndLeavingTakesItsTime) {
  MeasuredCosts costs{.first_token_s = 0.1, .prefill_per_s = 100, .decode_per_s = 50, .sleep_s = 0.25, .stop_s = 0.5};
  costs.ladder = {{policy::Rung::serving, policy::Footprint::host(2 * kGB), 0}, {policy::Rung::cold, {}, 3}};
  Trace trace{
      .name = "t", .models = {model_of("a", 1), model_of("b", 1)}, .requests = {ask(0, 0), ask(100, 1), ask(200, 0)}};
  for (auto& model : trace.models)
    model.size.measured = costs;
  const auto result = run(trace, "lru", 3);
  EXPECT_EQ(result.loads, 3U);
  EXPECT_NEAR(result.cold_start_s, 9, 1e-6);
  EXPECT_NEAR(result.queued_s, 1, 1e-6) << "each of the two that came second waited for the other to stop";
  EXPECT_NEAR(result.by_class[policy::index_of(ServiceClass::interactive)].ttft_p50_s, 3.6, 1e-6);
}

TEST(Replay, HibernationMakesRoomForAnother) {
  // 1.4 GB each; 2 GB of memory.
  const Trace trace{.name = "t",
                    .models = {model_of("a", 1), model_of("b", 1)},
                    .requests = {ask(0, 0), ask(100, 1), ask(200, 0), ask(300, 1)}};
  const auto result = run(trace, "lru", 2);
  EXPECT_EQ(result.loads, 2U);
  EXPECT_EQ(result.wakes, 2U);
  EXPECT_EQ(result.broken_invariants, 0U);
}

TEST(Replay, ABusyModelIsWaitedFor) {
  const Trace trace{
      .name = "t", .models = {model_of("a", 1), model_of("b", 1)}, .requests = {ask(0, 0, 60), ask(10, 1)}};
  for (const auto& contestant : all_contestants()) {
    const auto result = run(trace, contestant.name, 1.5);
    EXPECT_EQ(result.broken_invariants, 0U);
    EXPECT_EQ(result.cold_starts, 2U) << contestant.name;
    EXPECT_GT(result.queued_s, 50) << contestant.name;
  }
}

TEST(Replay, WhatCanNeverFitIsRefused) {
  const Trace trace{.name = "t", .models = {model_of("a", 9), model_of("b", 1)}, .requests = {ask(0, 1), ask(10, 0)}};
  const auto result = run(trace, "hearth", 4);
  EXPECT_EQ(result.refused, 1U);
  EXPECT_EQ(result.demotions, 0U);
}

TEST(Replay, BackgroundWaitsWhileVoiceIsHeldAndNeverEvictsIt) {
  const Trace trace{.name = "t",
                    .models = {model_of("assistant", 1, ServiceClass::voice), model_of("chat", 1),
                               model_of("job", 1, ServiceClass::background)},
                    .requests = {ask(0, 0), ask(10, 1), ask(20, 2), ask(21, 2), ask(500, 0)}};
  const auto result = run(trace, "hearth-demand", 3);
  EXPECT_EQ(result.voice_evicted_by_background, 0U);
  EXPECT_EQ(result.by_class[0].cold_starts, 1U) << "only its first";
  const auto& background = result.by_class[policy::index_of(ServiceClass::background)];
  EXPECT_EQ(background.cold_starts, 2U);
  // Until the keep-alive of chat is over, five minutes after its request ended.
  EXPECT_GT(background.queued_s, 2 * 270.0);
  EXPECT_EQ(result.unfinished, 0U);
}

TEST(Replay, TheSameSeedGivesTheSameBytes) {
  const SyntheticOptions options{.shape = Shape::bursty, .seed = 5, .days = 0.5, .intensity = 1};
  const auto once = run_experiment(make_synthetic(options), 5, {});
  const auto again = run_experiment(make_synthetic(options), 5, {});
  ASSERT_TRUE(once);
  ASSERT_TRUE(again);
  EXPECT_EQ(to_json(*once).dump(), to_json(*again).dump());
  EXPECT_EQ(text_of(*once), text_of(*again));
}

// Every policy, on every shape, in much and in little memory.
TEST(Replay, InvariantsHoldEverywhere) {
  for (const Shape shape : kAllShapes) {
    const Trace trace = make_synthetic({.shape = shape, .seed = 9, .days = 0.7, .intensity = 1});
    for (const auto& contestant : all_contestants()) {
      for (const double gb : {7.5, 12.0}) {
        const auto result = run(trace, contestant.name, gb);
        EXPECT_EQ(result.broken_invariants, 0U) << contestant.name << " " << trace.name << " " << gb;
        EXPECT_EQ(result.unfinished, 0U) << contestant.name << " " << trace.name << " " << gb;
        EXPECT_LE(result.most_reserved.host(), static_cast<base::Bytes>(gb * 1e9));
        if (contestant.classes) {
          EXPECT_EQ(result.voice_evicted_by_background, 0U);
        }
      }
    }
  }
}

TEST(Experiment, RefusesAPolicyThatThereIsNot) {
  const Trace trace{.name = "t", .models = {model_of("a", 1)}, .requests = {ask(0, 0)}};
  ExperimentOptions options;
  options.contestants = {"lru", "best"};
  const auto result = run_experiment(trace, 1, options);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("there is no policy \"best\"; there are peer-lru"), std::string::npos);
}

}  // namespace
}  // namespace hearth::lab
