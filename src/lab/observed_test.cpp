#include "lab/observed.h"

#include <gtest/gtest.h>

namespace hearth::lab {
namespace {

using domain::Stage;

domain::RequestRecord answered(double ttft_ms, std::vector<std::pair<Stage, double>> stages = {}) {
  domain::RequestRecord record{.status = 200, .ttft_ms = ttft_ms, .total_ms = ttft_ms + 100};
  for (const auto& [stage, ms] : stages)
    record.stages.push_back({.stage = stage, .ms = ms, .critical_ms = ms});
  record.tokens = domain::TokenCounts{.prompt = 100, .cached = 0, .generated = 10};
  return record;
}

ModelSize measured() {
  ModelSize size;
  size.measured = MeasuredCosts{.first_token_s = 0.05, .prefill_per_s = 1000, .decode_per_s = 50};
  return size;
}

TEST(Observed, AWarmRequestIsNoColdStartThoughItWaitedForASlot) {
  const auto served = served_of(answered(300, {{Stage::queue, 120}, {Stage::prefill, 180}}), measured());
  EXPECT_FALSE(served.cold);
  EXPECT_DOUBLE_EQ(served.queued_s, 0);
  EXPECT_DOUBLE_EQ(served.load_s, 0);
  EXPECT_DOUBLE_EQ(served.ttft_s, 0.3);
}

TEST(Observed, AStartIsToldByItsStages) {
  const auto served = served_of(
      answered(
          2000,
          {{Stage::queue, 500}, {Stage::process_start, 300}, {Stage::storage_read, 200}, {Stage::weights_load, 700}}),
      measured());
  EXPECT_TRUE(served.cold);
  EXPECT_DOUBLE_EQ(served.queued_s, 0.5);
  EXPECT_DOUBLE_EQ(served.load_s, 1.2);
}

// By hand: a warm one takes 50 ms and 100 tokens at 1000 a second.
TEST(Observed, AWakeCostsWhatTheFirstTokenTookLonger) {
  auto record = answered(650, {{Stage::queue, 100}, {Stage::prefill, 550}});
  record.cold_start = domain::ColdStart{.expected_ms = 1000, .limit_ms = std::nullopt, .kept = true, .why = "any"};
  const auto served = served_of(record, measured());
  EXPECT_TRUE(served.cold);
  EXPECT_DOUBLE_EQ(served.queued_s, 0.1);
  EXPECT_NEAR(served.load_s, 0.65 - 0.1 - 0.15, 1e-9);
}

TEST(Observed, ALimitThatIsNotKeptIsNoColdStart) {
  auto record = answered(150);
  record.cold_start = domain::ColdStart{.expected_ms = 1000, .limit_ms = 100, .kept = false, .why = "too long"};
  EXPECT_FALSE(served_of(record, measured()).cold);
  at(record.before, domain::Layer::weights).warmth = domain::Warmth::cold;
  EXPECT_TRUE(served_of(record, measured()).cold);
}

TEST(Observed, SpeedsComeFromTwoPromptsOfDifferentLength) {
  auto brief = answered(60);
  brief.tokens->prompt = 10;
  auto lengthy = answered(160);
  lengthy.tokens->prompt = 110;
  lengthy.decode_tokens_per_s = 44;
  const auto speeds = speeds_of(brief, lengthy);
  ASSERT_TRUE(speeds);
  EXPECT_NEAR(speeds->prefill_per_s, 1000, 1e-9);
  EXPECT_NEAR(speeds->first_token_s, 0.05, 1e-9);
  EXPECT_DOUBLE_EQ(speeds->decode_per_s, 44);
}

TEST(Observed, SpeedsThatWereNotMeasuredAreNotInvented) {
  auto lengthy = answered(160);
  EXPECT_FALSE(speeds_of(answered(60), lengthy)) << "no speed of the answer";
  lengthy.decode_tokens_per_s = 44;
  EXPECT_FALSE(speeds_of(answered(60), lengthy)) << "the same length";
  auto silent = lengthy;
  silent.ttft_ms.reset();
  EXPECT_FALSE(speeds_of(answered(60), silent));
}

}  // namespace
}  // namespace hearth::lab
