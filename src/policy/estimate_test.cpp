#include "policy/estimate.h"

#include <gtest/gtest.h>

#include "policy/test_models.h"

namespace hearth::policy {
namespace {

using test::id_of;
using test::kGB;

Claim claim_of(base::Bytes weights, base::Bytes kv) {
  Claim claim;
  claim[Charge::weights] = Footprint::host(weights);
  claim[Charge::kv] = Footprint::host(kv);
  return claim;
}

double off_by(const Claim& estimated, const Claim& truth) {
  const auto left = static_cast<double>(estimated.total().host());
  const auto right = static_cast<double>(truth.total().host());
  return std::abs(left - right) / right;
}

TEST(Estimator, TheSecondEstimateIsWithinFivePercentOfWhatIsMeasured) {
  Estimator estimator;
  const LoadOptions options{.context = 8192};
  const Claim prior = claim_of(kGB, kGB);
  const Claim first = claim_of(2 * kGB, kGB / 2);
  EXPECT_EQ(estimator.estimate(id_of("a"), options, prior).claim, prior);
  estimator.learn(id_of("a"), options, first, prior);
  const auto second = estimator.estimate(id_of("a"), options, prior);
  EXPECT_EQ(second.measured_times, 1U);
  EXPECT_LE(off_by(second.claim, claim_of(2 * kGB + kGB / 20, kGB / 2)), 0.05) << "loads differ by a little";
}

TEST(Estimator, OtherOptionsBorrowWhatDoesNotDependOnThem) {
  Estimator estimator;
  estimator.learn(id_of("a"), {.context = 4096}, claim_of(2 * kGB, kGB / 2), claim_of(kGB, kGB / 4));
  const auto other = estimator.estimate(id_of("a"), {.context = 8192}, claim_of(kGB, kGB / 2));
  EXPECT_EQ(other.measured_times, 0U);
  EXPECT_EQ(other.claim[Charge::weights].host(), 2 * kGB);
  EXPECT_EQ(other.claim[Charge::kv].host(), kGB) << "the prior was off by two";
  const auto placed = estimator.estimate(id_of("a"), {.context = 8192, .device_layers = 10}, claim_of(kGB, kGB / 2));
  EXPECT_EQ(placed.claim[Charge::weights].host(), kGB) << "on a device nothing is known yet";
}

TEST(Estimator, WhatWasLearntCanBeCarriedOverARestart) {
  Estimator before;
  const LoadOptions options{.context = 4096, .other = "x"};
  before.learn(id_of("a"), options, claim_of(2 * kGB, kGB / 2), claim_of(kGB, kGB / 4));
  before.learn(id_of("a"), options, claim_of(3 * kGB, kGB / 2), claim_of(kGB, kGB / 4));
  const auto learnt = before.learnt(id_of("a"), options);
  ASSERT_TRUE(learnt);
  EXPECT_EQ(learnt->times, 2U);
  EXPECT_FALSE(before.learnt(id_of("b"), options));
  Estimator after;
  after.restore(*learnt);
  EXPECT_EQ(after.learnt(id_of("a"), options), learnt);
  const auto estimate = after.estimate(id_of("a"), options, claim_of(kGB, kGB / 4));
  EXPECT_EQ(estimate.claim, claim_of(3 * kGB, kGB / 2));
  EXPECT_EQ(estimate.measured_times, 2U);
}

TEST(Estimator, ThePromptCacheIsWhatItIsGivenThisTime) {
  Estimator estimator;
  Claim prior = claim_of(kGB, kGB / 4);
  prior[Charge::prefix] = Footprint::host(kGB / 2);
  estimator.learn(id_of("a"), {.context = 4096}, prior, prior);
  prior[Charge::prefix] = Footprint::host(kGB / 8);
  EXPECT_EQ(estimator.estimate(id_of("a"), {.context = 4096}, prior).claim, prior);
  EXPECT_EQ(estimator.estimate(id_of("a"), {.context = 8192}, prior).claim[Charge::prefix].host(), kGB / 8);
}

TEST(Estimator, AnotherFileOfTheSameNameIsEstimatedAnew) {
  Estimator estimator;
  estimator.learn(id_of("a"), {.context = 4096}, claim_of(2 * kGB, kGB / 2), claim_of(kGB, kGB / 4));
  const Claim other = claim_of(5 * kGB, kGB / 4);
  EXPECT_EQ(estimator.estimate(id_of("a"), {.context = 4096}, other).claim, other);
  EXPECT_EQ(estimator.estimate(id_of("a"), {.context = 8192}, other).claim, other);
}

TEST(Estimator, ForgetsAModelAndStaysBounded) {
  Estimator estimator;
  for (std::uint64_t context = 1; context <= Estimator::kMostEntries + 50; ++context)
    estimator.learn(id_of("a"), {.context = context}, claim_of(kGB, 1), claim_of(kGB, 1));
  EXPECT_EQ(estimator.size(), Estimator::kMostEntries);
  estimator.forget(id_of("a"));
  EXPECT_EQ(estimator.size(), 0U);
}

TEST(KvShape, CountsKeysAndValues) {
  // Llama 3.2 1B: 16 layers, 8 KV heads of 64, 16 bits: 32 KiB a token.
  EXPECT_EQ((KvShape{16, 8, 64, 64, 2}.bytes_per_token()), 32768);
}

}  // namespace
}  // namespace hearth::policy
