#include "timeline/assemble.h"

#include <gtest/gtest.h>

#include <limits>

namespace hearth::timeline {
namespace {

using domain::Source;
using domain::Stage;

const base::Mono kStart{std::chrono::hours(7)};
base::Mono at(double ms) { return kStart + base::from_ms(ms); }

const domain::StageSpan& span_of(const domain::RequestRecord& record, Stage stage) {
  return record.stages.at(static_cast<std::size_t>(stage));
}
double ms_of(const domain::RequestRecord& record, Stage stage) { return span_of(record, stage).critical_ms; }

// A streamed chat on a warm engine.
domain::RequestObservation warm_chat() {
  domain::RequestObservation seen;
  seen.id = "01";
  seen.model = domain::ModelId::parse("hearth-mini").value();
  seen.status = 200;
  seen.started_at = base::Wall{std::chrono::milliseconds(1'700'000'000'045)};
  seen.received = at(0);
  seen.asked = at(1);
  seen.admitted = at(1.5);
  seen.sent = at(2);
  seen.prefill_began = at(5);
  seen.first_token = at(45);
  seen.finished = at(145);
  seen.timings = {.cached_tokens = 96, .prompt_tokens = 24, .prompt_ms = 38, .generated_tokens = 5, .generated_ms = 99};
  return seen;
}

// The same after an engine start of 100 ms to listening and 400 ms more to ready, 150 ms of which waited for storage.
domain::RequestObservation cold_chat() {
  auto seen = warm_chat();
  seen.asked = at(1);
  seen.admitted = at(512);
  seen.sent = at(513);
  seen.prefill_began = at(515);
  seen.first_token = at(560);
  seen.finished = at(700);
  seen.start = {.spawned = at(3),
                .listening = at(103),
                .ready = at(503),
                .blocked_on_storage = base::from_ms(150),
                .bytes_read = 703'000'000,
                .major_faults = 12};
  return seen;
}

void expect_sums(const domain::RequestRecord& record) {
  double all = 0;
  for (const auto& span : record.stages)
    all += span.critical_ms;
  EXPECT_NEAR(all, record.total_ms, 0.001);
  if (record.ttft_ms) {
    EXPECT_NEAR(all - ms_of(record, Stage::decode), *record.ttft_ms, 0.001);
  }
}

TEST(Assemble, WarmChat) {
  const auto record = assemble(warm_chat());
  expect_sums(record);
  EXPECT_EQ(record.model, "hearth-mini");
  EXPECT_EQ(record.started_at, "2023-11-14T22:13:20.045Z");
  EXPECT_DOUBLE_EQ(*record.ttft_ms, 45);
  EXPECT_DOUBLE_EQ(record.total_ms, 145);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::admission), 1);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::queue), 0.5);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::other), 3.5);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::prefill), 38);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::first_decode), 2);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::decode), 100);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::process_start), 0);
  EXPECT_EQ(span_of(record, Stage::prefill).source, Source::engine);
  EXPECT_EQ(span_of(record, Stage::first_decode).source, Source::hearth);
  EXPECT_DOUBLE_EQ(span_of(record, Stage::prefill).start_ms, 5);
  EXPECT_FALSE(record.cause);
}

TEST(Assemble, TokensAndRate) {
  const auto record = assemble(warm_chat());
  EXPECT_EQ(record.tokens->prompt, 120);
  EXPECT_EQ(record.tokens->cached, 96);
  EXPECT_EQ(record.tokens->generated, 5);
  EXPECT_DOUBLE_EQ(*record.decode_tokens_per_s, 4 / 0.099);
  auto single = warm_chat();
  single.timings->generated_tokens = 1;
  EXPECT_FALSE(assemble(single).decode_tokens_per_s);
  single.timings.reset();
  EXPECT_FALSE(assemble(single).tokens);
}

TEST(Assemble, EveryStageIsThereInOrder) {
  const auto record = assemble({});
  ASSERT_EQ(record.stages.size(), domain::kAllStages.size());
  for (std::size_t i = 0; i < record.stages.size(); ++i)
    EXPECT_EQ(record.stages[i].stage, domain::kAllStages[i]);
}

TEST(Assemble, ColdStartSplitsTheWait) {
  const auto record = assemble(cold_chat());
  expect_sums(record);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::queue), 2 + 9);  // before the spawn and after ready
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::process_start), 100);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::storage_read), 150);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::weights_load), 250);
  EXPECT_DOUBLE_EQ(span_of(record, Stage::weights_load).ms, 400);  // its span holds the storage read
  EXPECT_DOUBLE_EQ(span_of(record, Stage::weights_load).start_ms, 103);
  EXPECT_DOUBLE_EQ(span_of(record, Stage::storage_read).start_ms, 103);
  EXPECT_EQ(span_of(record, Stage::storage_read).source, Source::kernel);
  EXPECT_EQ(span_of(record, Stage::storage_read).bytes, 703'000'000U);
  EXPECT_DOUBLE_EQ(span_of(record, Stage::queue).start_ms, 503);  // its longest piece
}

TEST(Assemble, JoiningAStartLateTakesOnlyItsRest) {
  auto seen = cold_chat();
  seen.start->spawned = at(-397);  // 900 ms to ready in all, of which 502 after the request asked
  seen.start->listening = at(-297);
  const auto record = assemble(seen);
  expect_sums(record);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::process_start), 0);
  EXPECT_NEAR(ms_of(record, Stage::storage_read), 150.0 * 502 / 900, 1e-3);
  EXPECT_NEAR(ms_of(record, Stage::weights_load), 502 - 150.0 * 502 / 900, 1e-3);
  EXPECT_FALSE(span_of(record, Stage::storage_read).bytes);  // how many of them were read meanwhile is not known
}

TEST(Assemble, AStartThatWasOverBeforeCostsNothing) {
  auto seen = cold_chat();
  seen.start->spawned = at(-900);
  seen.start->listening = at(-800);
  seen.start->ready = at(-400);
  const auto record = assemble(seen);
  expect_sums(record);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::queue), 511);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::storage_read), 0);
}

TEST(Assemble, AStartWhoseListeningNobodySawIsProcessStart) {
  auto seen = cold_chat();
  seen.start->listening.reset();
  const auto record = assemble(seen);
  expect_sums(record);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::process_start), 350);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::storage_read), 150);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::weights_load), 0);
}

TEST(Assemble, AStartThatFailedRunsToTheEnd) {
  auto seen = cold_chat();
  seen.admitted.reset();
  seen.sent.reset();
  seen.prefill_began.reset();
  seen.first_token.reset();
  seen.timings.reset();
  seen.start->ready.reset();
  seen.start->blocked_on_storage = base::from_ms(80);
  seen.finished = at(203);
  const auto record = assemble(seen);
  expect_sums(record);
  EXPECT_FALSE(record.ttft_ms);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::process_start), 100);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::storage_read), 80);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::weights_load), 20);
}

TEST(Assemble, TheProbeTellsTokenizeFromPrefill) {
  auto seen = warm_chat();
  seen.probe = domain::ProbeTimes{.tokenize_ms = 1.25, .prefill_ms = 37, .restore_ms = std::nullopt};
  const auto record = assemble(seen);
  expect_sums(record);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::tokenize), 1.25);
  EXPECT_EQ(span_of(record, Stage::tokenize).source, Source::tier);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::prefix_restore), 0);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::prefill), 37);
  EXPECT_EQ(span_of(record, Stage::prefill).source, Source::tier);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::first_decode), 3);
  seen.probe = domain::ProbeTimes{.tokenize_ms = 1e9, .prefill_ms = 1e9, .restore_ms = 1e9};
  expect_sums(assemble(seen));
}

TEST(Assemble, ABusyEngineIsAQueue) {
  auto seen = warm_chat();
  seen.engine_was_busy = true;
  const auto record = assemble(seen);
  expect_sums(record);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::queue), 0.5 + 3);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::other), 0.5);
}

TEST(Assemble, WithoutPrefillBeganTheSpanIsSplitFromItsEnd) {
  auto seen = warm_chat();
  seen.prefill_began.reset();
  auto record = assemble(seen);
  expect_sums(record);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::prefill), 38);
  EXPECT_DOUBLE_EQ(span_of(record, Stage::prefill).start_ms, 7);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::first_decode), 0);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::other), 0.5 + 5);
  seen.engine_was_busy = true;
  record = assemble(seen);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::queue), 0.5 + 5);
}

TEST(Assemble, AnAnswerThatCameInOnePieceIsSplitByTheEnginesFigures) {
  auto seen = warm_chat();
  seen.prefill_began = at(12);
  seen.first_token = at(12);
  seen.finished = at(12.5);
  seen.timings = {.cached_tokens = 14, .prompt_tokens = 1, .prompt_ms = 4, .generated_tokens = 8, .generated_ms = 3.5};
  const auto record = assemble(seen);
  EXPECT_NEAR(ms_of(record, Stage::prefill), 4, 1e-6);
  EXPECT_NEAR(ms_of(record, Stage::first_decode), 3, 1e-6);
  EXPECT_NEAR(ms_of(record, Stage::other), 3.5, 1e-6);
  expect_sums(record);
}

TEST(Assemble, TokensThatTheEngineHeldBackAreFirstDecode) {
  auto seen = warm_chat();
  seen.prefill_began.reset();
  seen.timings->prompt_ms = 10;
  seen.timings->generated_ms = 125;  // but it was seen to generate for 100 ms only
  const auto record = assemble(seen);
  expect_sums(record);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::first_decode), 25);
  EXPECT_DOUBLE_EQ(span_of(record, Stage::prefill).start_ms, 10);
}

TEST(Assemble, WithoutTimingsNothingIsInvented) {
  auto seen = warm_chat();
  seen.timings.reset();
  auto record = assemble(seen);
  expect_sums(record);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::prefill), 40);
  EXPECT_EQ(span_of(record, Stage::prefill).source, Source::hearth);
  seen.prefill_began.reset();
  seen.engine_was_busy = true;
  record = assemble(seen);
  expect_sums(record);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::prefill), 0);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::other), 43.5);
}

TEST(Assemble, AWholeAnswerHasNoFirstTokenButItsStages) {
  auto seen = warm_chat();
  seen.prefill_began.reset();
  seen.first_token.reset();
  const auto record = assemble(seen);
  expect_sums(record);
  EXPECT_FALSE(record.ttft_ms);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::decode), 99);
  EXPECT_EQ(span_of(record, Stage::decode).source, Source::engine);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::prefill), 38);
  EXPECT_DOUBLE_EQ(span_of(record, Stage::prefill).start_ms, 145 - 99 - 38);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::other), 0.5 + 6);
}

TEST(Assemble, AnEmbeddingIsAPrefill) {
  auto seen = warm_chat();
  seen.prefill_began.reset();
  seen.first_token.reset();
  seen.timings = {.cached_tokens = 0, .prompt_tokens = 24, .prompt_ms = 100, .generated_tokens = 0, .generated_ms = 0};
  const auto record = assemble(seen);
  expect_sums(record);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::prefill), 100);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::decode), 0);
  EXPECT_FALSE(record.decode_tokens_per_s);
}

TEST(Assemble, AClientThatLeavesWhileItWaitsLeavesAQueue) {
  domain::RequestObservation seen;
  seen.received = at(0);
  seen.asked = at(2);
  seen.finished = at(90);
  const auto record = assemble(seen);
  expect_sums(record);
  EXPECT_DOUBLE_EQ(ms_of(record, Stage::queue), 88);
}

TEST(Assemble, ABodyThatNeverEndsIsAdmission) {
  domain::RequestObservation seen;
  seen.received = at(0);
  seen.finished = at(90);
  EXPECT_DOUBLE_EQ(ms_of(assemble(seen), Stage::admission), 90);
}

TEST(Assemble, NonsenseFromTheEngineStaysWithinTheSpan) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const double ms : {-5.0, 1e300, kInf, -kInf, std::numeric_limits<double>::quiet_NaN(), 1e-300}) {
    for (const bool began : {true, false}) {
      auto seen = warm_chat();
      if (!began) seen.prefill_began.reset();
      constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
      seen.timings = {.cached_tokens = kMost,
                      .prompt_tokens = kMost,
                      .prompt_ms = ms,
                      .generated_tokens = kMost,
                      .generated_ms = ms};
      const auto record = assemble(seen);
      expect_sums(record);
      EXPECT_EQ(record.tokens->prompt, kMost);
      for (const auto& span : record.stages)
        EXPECT_GE(span.critical_ms, 0);
    }
  }
}

}  // namespace
}  // namespace hearth::timeline
