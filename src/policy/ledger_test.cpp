#include "policy/ledger.h"

#include <gtest/gtest.h>

#include <random>

#include "policy/test_models.h"

namespace hearth::policy {
namespace {

using test::id_of;
using test::kGB;

Claim claim_of(base::Bytes weights, base::Bytes kv = 0) {
  Claim claim;
  claim[Charge::weights] = Footprint::host(weights);
  claim[Charge::kv] = Footprint::host(kv);
  return claim;
}

TEST(Ledger, PromisesBeforeUseAndRefusesWhatDoesNotFit) {
  Ledger ledger(Footprint::host(10 * kGB), 0);
  ASSERT_TRUE(ledger.admit(id_of("a"), claim_of(6 * kGB)));
  const auto refused = ledger.admit(id_of("b"), claim_of(6 * kGB));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::does_not_fit);
  EXPECT_EQ(refused.error().message, "b needs 6.0 GB, 4.0 GB are available") << "what is starting counts";
  ledger.set_phase(id_of("a"), Phase::stopping);
  EXPECT_FALSE(ledger.admit(id_of("b"), claim_of(6 * kGB))) << "what is stopping counts";
  ledger.release(id_of("a"));
  EXPECT_TRUE(ledger.admit(id_of("b"), claim_of(6 * kGB)));
}

TEST(Ledger, OneAccountPerModel) {
  Ledger ledger(Footprint::host(10 * kGB), 0);
  ASSERT_TRUE(ledger.admit(id_of("a"), claim_of(kGB)));
  EXPECT_EQ(ledger.admit(id_of("a"), claim_of(kGB)).error().code, base::ErrorCode::in_use);
}

TEST(Ledger, MeasurementsCorrectWeightsButNotWhatGrowsIntoItsPromise) {
  Ledger ledger(Footprint::host(10 * kGB), 0);
  ASSERT_TRUE(ledger.admit(id_of("a"), claim_of(6 * kGB, 2 * kGB)));
  ledger.measured(id_of("a"), claim_of(5 * kGB, kGB));
  EXPECT_EQ(ledger.charged().host(), 8 * kGB) << "a start has not touched all of it yet";
  ledger.set_phase(id_of("a"), Phase::running);
  EXPECT_EQ(ledger.charged().host(), 7 * kGB);
  ledger.measured(id_of("a"), claim_of(5 * kGB, 3 * kGB));
  EXPECT_EQ(ledger.charged().host(), 8 * kGB) << "more than promised counts too";
}

TEST(Ledger, LockedWeightsAreNotCountedTwice) {
  Claim claim = claim_of(2 * kGB);
  claim[Charge::locked] = Footprint::host(kGB);
  EXPECT_EQ(claim.total().host(), 2 * kGB);
}

TEST(Ledger, TheKernelHasTheLastWord) {
  Ledger ledger(Footprint::host(10 * kGB), kGB);
  ASSERT_TRUE(ledger.admit(id_of("a"), claim_of(4 * kGB)));
  ledger.set_phase(id_of("a"), Phase::running);
  // Of the 4 GB promised 1 GB is there; 3 more will come out of what is available.
  ledger.note_host({.total = 16 * kGB, .available = 6 * kGB, .ours = kGB});
  EXPECT_EQ(ledger.free().host(), 2 * kGB);
  EXPECT_EQ(ledger.other_services(), 9 * kGB);
  EXPECT_TRUE(ledger.overdrawn().empty());
  ledger.note_host({.total = 16 * kGB, .available = 3 * kGB, .ours = kGB});
  EXPECT_EQ(ledger.free().host(), 0U);
  EXPECT_EQ(ledger.overdrawn().host(), kGB);
}

TEST(Ledger, ResizingGrowsOnlyIntoWhatIsFree) {
  Ledger ledger(Footprint::host(10 * kGB), 0);
  ASSERT_TRUE(ledger.admit(id_of("a"), claim_of(4 * kGB)));
  ASSERT_TRUE(ledger.admit(id_of("b"), claim_of(4 * kGB)));
  EXPECT_FALSE(ledger.resize(id_of("a"), claim_of(7 * kGB)));
  EXPECT_EQ(ledger.charged().host(), 8 * kGB) << "a refused change changes nothing";
  EXPECT_TRUE(ledger.resize(id_of("a"), claim_of(6 * kGB)));
  EXPECT_TRUE(ledger.resize(id_of("a"), claim_of(kGB)));
  EXPECT_EQ(ledger.free().host(), 5 * kGB);
}

TEST(Ledger, RowsNameOwnersAndKinds) {
  Ledger ledger(Footprint::host(10 * kGB), kGB);
  ASSERT_TRUE(ledger.admit(id_of("a"), claim_of(4 * kGB, kGB)));
  ledger.note_host({.total = 16 * kGB, .available = 14 * kGB, .ours = 0});
  const auto rows = ledger.rows();
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].owner, "a");
  EXPECT_EQ(rows[0].charge, Charge::weights);
  EXPECT_EQ(rows[1].charge, Charge::kv);
  EXPECT_EQ(rows[2].owner, "other services");
  EXPECT_EQ(rows[2].bytes.host(), 2 * kGB);
  EXPECT_EQ(rows[3].owner, "reserve");
}

TEST(Ledger, WhateverHappensPromisesStayWithinTheBudget) {
  std::mt19937_64 random(3);
  Ledger ledger(Footprint{{10 * kGB, 4 * kGB}}, 0);
  for (int step = 0; step < 2'000; ++step) {
    const auto id = id_of("m" + std::to_string(random() % 8));
    Claim claim = claim_of(random() % (6 * kGB), random() % kGB);
    claim[Charge::weights].at[1] = random() % (3 * kGB);
    const bool fits = claim.total().fits_in(ledger.free());
    switch (random() % 4) {
      case 0: {
        const bool had = ledger.find(id) != nullptr;
        EXPECT_EQ(ledger.admit(id, claim).has_value(), fits && !had);
        break;
      }
      case 1:
        (void)ledger.resize(id, claim);
        break;
      case 2:
        ledger.set_phase(id, static_cast<Phase>(random() % 3));
        break;
      case 3:
        ledger.release(id);
        break;
    }
    ASSERT_TRUE(ledger.charged().fits_in(ledger.budget())) << "step " << step;
    ASSERT_TRUE(ledger.overdrawn().empty());
  }
}

TEST(PromptCache, TakesAtMostItsShareAndNothingTooSmall) {
  EXPECT_EQ(prompt_cache_allowance(8 * kGB, 4 * kGB), kGB);
  EXPECT_EQ(prompt_cache_allowance(kGB / 2, 4 * kGB), kGB / 2);
  EXPECT_EQ(prompt_cache_allowance(8 * kGB, kGB / 10), 0U);
}

}  // namespace
}  // namespace hearth::policy
