#include "policy/fit.h"

#include <gtest/gtest.h>

#include "policy/residency.h"
#include "policy/test_models.h"

namespace hearth::policy {
namespace {

using domain::ServiceClass;
using test::at;
using test::id_of;
using test::kGB;
using test::model_of;

FitAsk ask_for(base::Bytes bytes) {
  FitAsk ask;
  ask.newcomer = {id_of("newcomer"), ServiceClass::interactive};
  ask.needed = Footprint::host(bytes);
  return ask;
}

FitVerdict judge(const FitAsk& ask, std::span<const Held> models, double capacity_gb, double free_gb,
                 std::span<const Running> running = {}) {
  const auto bytes = [](double gb) { return Footprint::host(static_cast<base::Bytes>(gb * 1e9)); };
  return judge_fit(ask, models, running, bytes(capacity_gb), bytes(free_gb), {}, at(0));
}

TEST(Fit, WhatCanNeverFitIsRefusedWithEverythingAPersonNeeds) {
  auto ask = ask_for(14 * kGB);
  ask.context = 262'144;
  ask.kv_bytes_per_token = 32'768;
  ask.quantisations = {
      {"q8_0", Footprint::host(12 * kGB)}, {"q4_k_m", Footprint::host(7 * kGB)}, {"q2_k", Footprint::host(4 * kGB)}};
  const std::vector<Held> models = {model_of("a", 4)};
  const auto verdict = judge(ask, models, 10, 6);
  EXPECT_EQ(verdict.outcome, FitOutcome::never);
  EXPECT_EQ(verdict.needed.host(), 14 * kGB);
  EXPECT_EQ(verdict.available.host(), 10 * kGB);
  ASSERT_TRUE(verdict.largest_context);
  // 14 GB less 8.59 GB of KV leave 4.59 GB for tokens.
  EXPECT_EQ(*verdict.largest_context, 140'032U);
  EXPECT_EQ(verdict.smaller_quantisations, (std::vector<std::string>{"q4_k_m", "q2_k"}));
  EXPECT_EQ(verdict.reason,
            "it needs 14.0 GB, at most 10.0 GB can be made available; a context of 140032 tokens would fit; smaller: "
            "q4_k_m, q2_k");
}

TEST(Fit, WithoutKnowledgeOfTheKvNoContextIsInvented) {
  auto ask = ask_for(14 * kGB);
  ask.context = 4096;
  EXPECT_FALSE(judge(ask, {}, 10, 10).largest_context.has_value());
}

TEST(Fit, PinsAreNamed) {
  std::vector<Held> models = {model_of("a", 4)};
  models[0].pinned = true;
  const auto verdict = judge(ask_for(8 * kGB), models, 10, 6);
  EXPECT_EQ(verdict.outcome, FitOutcome::never);
  EXPECT_TRUE(verdict.pinned_conflict);
  EXPECT_NE(verdict.reason.find("beside a (pinned)"), std::string::npos) << verdict.reason;
}

TEST(Fit, WhatIsHeldForEverForAHigherClassIsNotWaitedFor) {
  std::vector<Held> models = {model_of("assistant", 4)};
  models[0].service_class = ServiceClass::voice;
  models[0].kept_until = base::Mono::max();
  models[0].kept_forever = true;
  models[0].floor = Rung::serving;
  const auto verdict = judge(ask_for(8 * kGB), models, 10, 6);
  EXPECT_EQ(verdict.outcome, FitOutcome::never);
  EXPECT_FALSE(verdict.pinned_conflict);
  EXPECT_EQ(verdict.kept_forever, std::vector{models[0].id});
  EXPECT_NE(verdict.reason.find("beside assistant (held for a higher class)"), std::string::npos) << verdict.reason;
  models[0].floor = Rung::hibernated;
  EXPECT_EQ(judge(ask_for(8 * kGB), models, 10, 6).outcome, FitOutcome::after_eviction);
  models[0].kept_until = at(30);
  models[0].kept_forever = false;
  models[0].floor = Rung::serving;
  const auto waits = judge(ask_for(8 * kGB), models, 10, 6);
  EXPECT_EQ(waits.outcome, FitOutcome::after_waiting);
  EXPECT_EQ(waits.expected_wait, std::chrono::seconds(30));
}

TEST(Fit, WhatAnswersForAHigherClassIsWaitedFor) {
  std::vector<Held> models = {model_of("assistant", 4)};
  models[0].service_class = ServiceClass::voice;
  models[0].in_use = true;
  models[0].kept_until = base::Mono::max();  // until its request ends
  models[0].floor = Rung::serving;
  EXPECT_EQ(judge(ask_for(8 * kGB), models, 10, 6).outcome, FitOutcome::after_waiting);
}

TEST(Fit, NowOrAfterEviction) {
  const std::vector<Held> models = {model_of("a", 4)};
  EXPECT_EQ(judge(ask_for(6 * kGB), models, 10, 6).outcome, FitOutcome::now);
  EXPECT_EQ(judge(ask_for(8 * kGB), models, 10, 6).outcome, FitOutcome::after_eviction);
}

TEST(Fit, WaitsForThoseWhoEndFirst) {
  std::vector<Held> models = {model_of("quick", 4), model_of("slow", 4)};
  models[0].in_use = models[1].in_use = true;
  const std::vector<Running> running = {{models[0].id, at(3)}, {models[1].id, at(60)}};
  const auto verdict = judge(ask_for(5 * kGB), models, 10, 2, running);
  EXPECT_EQ(verdict.outcome, FitOutcome::after_waiting);
  ASSERT_TRUE(verdict.expected_wait);
  EXPECT_EQ(*verdict.expected_wait, std::chrono::seconds(3));
  EXPECT_EQ(verdict.waits_for.size(), 2U);
  const auto unknown = judge(ask_for(5 * kGB), models, 10, 2);
  EXPECT_FALSE(unknown.expected_wait.has_value()) << "nobody knows when they end";
}

ResidencyDecision decide_for(std::vector<Held>& models, base::Bytes needed, base::Bytes free,
                             std::span<const Waiting> queue = {},
                             ServiceClass service_class = ServiceClass::interactive) {
  ResidencyAsk ask;
  ask.fit = ask_for(needed);
  ask.fit.newcomer.service_class = service_class;
  ask.asked = at(0);
  const ResidencySnapshot snapshot{
      .models = models, .queue = queue, .capacity = Footprint::host(10 * kGB), .free = Footprint::host(free)};
  return decide(EvictionPolicy::hearth, snapshot, ask, {}, at(0));
}

TEST(Residency, WhatServesIsServed) {
  std::vector<Held> models = {model_of("newcomer", 4)};
  EXPECT_EQ(decide_for(models, 0, 0).action, ResidencyAction::serve);
}

TEST(Residency, LoadsAfterDemotions) {
  std::vector<Held> models = {model_of("newcomer", 4, Rung::hibernated), model_of("other", 8)};
  const auto decision = decide_for(models, 3'600'000'000, kGB);
  EXPECT_EQ(decision.action, ResidencyAction::load);
  ASSERT_EQ(decision.plan.demotions.size(), 1U);
  EXPECT_EQ(decision.plan.demotions[0].id.text(), "other");
  EXPECT_DOUBLE_EQ(decision.ready_in_s, 2) << "from hibernation";
}

TEST(Residency, NobodyIsEvictedForWhatCanNeverFit) {
  std::vector<Held> models = {model_of("other", 8)};
  const auto decision = decide_for(models, 11 * kGB, 2 * kGB);
  EXPECT_EQ(decision.action, ResidencyAction::refuse);
  EXPECT_TRUE(decision.plan.demotions.empty());
}

TEST(Residency, ALoadOnItsWayIsWaitedFor) {
  std::vector<Held> models = {model_of("newcomer", 4)};
  models[0].changing = true;
  EXPECT_EQ(decide_for(models, 0, 0).action, ResidencyAction::wait);
}

TEST(Residency, ALowerClassDoesNotDelayTheLoadOfAHigherOne) {
  std::vector<Held> models;
  const std::vector<Waiting> queue = {{1, id_of("assistant"), ServiceClass::voice, at(-1)}};
  EXPECT_EQ(decide_for(models, kGB, 10 * kGB, queue).action, ResidencyAction::wait);
  EXPECT_EQ(decide_for(models, kGB, 10 * kGB, queue, ServiceClass::voice).action, ResidencyAction::load);
}

}  // namespace
}  // namespace hearth::policy
