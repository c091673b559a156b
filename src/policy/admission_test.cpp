#include "policy/admission.h"

#include <gtest/gtest.h>

#include "policy/test_models.h"

namespace hearth::policy {
namespace {

using namespace std::chrono_literals;
using domain::ServiceClass;
using test::at;
using test::id_of;
using test::model_of;
using Order = std::vector<std::uint64_t>;

Waiting waiting(std::uint64_t ticket, std::string_view model, ServiceClass service_class, double since_s = 0) {
  return {ticket, id_of(model), service_class, at(since_s)};
}

TEST(Admission, HigherClassesFirstThenFirstComeFirstServed) {
  const std::vector<Waiting> queue = {
      waiting(1, "job", ServiceClass::background), waiting(2, "chat", ServiceClass::interactive),
      waiting(3, "assistant", ServiceClass::voice), waiting(4, "coder", ServiceClass::interactive)};
  EXPECT_EQ(order_of(queue, {}, {}, at(1)), (Order{3, 2, 4, 1}));
}

TEST(Admission, BackgroundGoesByModelSoThatOneLoadServesMany) {
  const std::vector<Waiting> queue = {
      waiting(1, "a", ServiceClass::background), waiting(2, "b", ServiceClass::background),
      waiting(3, "a", ServiceClass::background), waiting(4, "b", ServiceClass::background)};
  EXPECT_EQ(order_of(queue, {}, {}, at(1)), (Order{1, 3, 2, 4}));
  const std::vector<domain::ModelId> warm = {id_of("b")};
  EXPECT_EQ(order_of(queue, warm, {}, at(1)), (Order{2, 4, 1, 3})) << "what needs no load goes before";
}

TEST(Admission, BackgroundIsNotStarved) {
  const AdmissionConfig config{.starvation_bound = 10min};
  const std::vector<Waiting> queue = {waiting(1, "job", ServiceClass::background, 0),
                                      waiting(2, "chat", ServiceClass::interactive, 500),
                                      waiting(3, "assistant", ServiceClass::voice, 550)};
  EXPECT_EQ(order_of(queue, {}, config, at(599)), (Order{3, 2, 1}));
  EXPECT_EQ(order_of(queue, {}, config, at(600)), (Order{3, 1, 2}));
}

TEST(Admission, AFullQueueSaysWhenToComeBack) {
  AdmissionConfig config;
  config.most_waiting = {1, 2, 1};
  const std::vector<Waiting> queue = {waiting(1, "chat", ServiceClass::interactive),
                                      waiting(2, "chat", ServiceClass::interactive)};
  const std::vector<ServiceTimes> times = {{id_of("chat"), 4.0, 3.0}};
  const auto refused = judge_waiting(waiting(3, "chat", ServiceClass::interactive), queue, {}, times, config, at(0));
  EXPECT_FALSE(refused.accepted);
  EXPECT_EQ(refused.retry_after, 10s) << "one load and two requests";
  const auto voice = judge_waiting(waiting(3, "assistant", ServiceClass::voice), queue, {}, times, config, at(0));
  EXPECT_TRUE(voice.accepted);
  EXPECT_EQ(voice.position, 1U);
}

TEST(Admission, TellsPositionAndExpectedWait) {
  const std::vector<Waiting> queue = {waiting(1, "chat", ServiceClass::interactive)};
  const std::vector<ServiceTimes> times = {{id_of("chat"), 4.0, 3.0}, {id_of("coder"), 2.0, std::nullopt}};
  const std::vector<domain::ModelId> warm = {id_of("chat")};
  const auto verdict = judge_waiting(waiting(2, "coder", ServiceClass::interactive), queue, warm, times, {}, at(0));
  EXPECT_EQ(verdict.position, 2U);
  EXPECT_EQ(verdict.expected_wait, 5s);
  EXPECT_EQ(verdict.reason, "number 2 in the queue, about 5.0 s");
}

TEST(ColdStart, APromiseThatNeedsWarmthNamesTheColdestRungThatKeepsIt) {
  const auto held = model_of("assistant", 2);  // 1 s from hibernation, 3 s from cold
  const auto promise = promise_of(ServiceClass::voice, held.ladder, 0.2, {});
  EXPECT_TRUE(promise.kept);
  EXPECT_TRUE(promise.keep_warm);
  EXPECT_EQ(promise.floor, Rung::hibernated);
  EXPECT_EQ(promise.reason, "kept hibernated so that its first token comes within 1.5 s");
}

TEST(ColdStart, WithoutALimitTheColdStartIsAcceptedAndSaidSo) {
  const auto promise = promise_of(ServiceClass::interactive, model_of("chat", 2).ladder, 0.2, {});
  EXPECT_FALSE(promise.keep_warm);
  EXPECT_EQ(promise.reason, "a cold start of 3.2 s is accepted");
}

TEST(ColdStart, WhatIsSlowEvenWarmIsSaidToBe) {
  const auto promise = promise_of(ServiceClass::voice, model_of("assistant", 2).ladder, 2.0, {});
  EXPECT_FALSE(promise.kept);
}

}  // namespace
}  // namespace hearth::policy
