// The sums hold whatever was observed: seeded random observations with missing, doubled and disordered instants.
#include <gtest/gtest.h>

#include <random>

#include "timeline/assemble.h"

namespace hearth::timeline {
namespace {

using domain::Stage;

class Observations {
 public:
  explicit Observations(std::uint64_t seed) : random_(seed) {}

  domain::RequestObservation next() {
    domain::RequestObservation seen;
    const bool ordered = chance(0.5);
    seen.received = kEpoch;
    now_ = 0;
    for (auto* instant : {&seen.asked, &seen.admitted, &seen.sent, &seen.prefill_began, &seen.first_token}) {
      if (chance(0.75)) *instant = instant_at(ordered);
    }
    seen.finished = instant_at(ordered);
    seen.engine_was_busy = chance(0.5);
    if (chance(0.6)) seen.start = start(ordered);
    if (chance(0.7)) seen.timings = timings();
    return seen;
  }

 private:
  static constexpr base::Mono kEpoch{std::chrono::hours(1000)};

  bool chance(double p) { return std::bernoulli_distribution(p)(random_); }
  double between(double low, double high) { return std::uniform_real_distribution(low, high)(random_); }

  // Later than the one before, often by nothing; or anywhere, before `received` too.
  base::Mono instant_at(bool ordered) {
    now_ = ordered ? now_ + (chance(0.2) ? 0 : between(0, 500)) : between(-300, 2000);
    return kEpoch + base::from_ms(now_);
  }

  domain::StartObservation start(bool ordered) {
    const double spawned = between(-800, 900);
    now_ = spawned;
    domain::StartObservation seen{.spawned = kEpoch + base::from_ms(spawned),
                                  .listening = {},
                                  .ready = {},
                                  .blocked_on_storage = {},
                                  .bytes_read = {},
                                  .major_faults = {}};
    if (chance(0.8)) seen.listening = instant_at(ordered);
    if (chance(0.8)) seen.ready = instant_at(ordered);
    if (chance(0.8)) seen.blocked_on_storage = base::from_ms(between(-10, 900));
    if (chance(0.8)) seen.bytes_read = 1'000'000;
    return seen;
  }

  domain::EngineTimings timings() {
    const auto count = [this] { return static_cast<std::int64_t>(between(-2, 300)); };
    return {.cached_tokens = count(),
            .prompt_tokens = count(),
            .prompt_ms = between(-10, 700),
            .generated_tokens = count(),
            .generated_ms = between(-10, 700)};
  }

  std::mt19937_64 random_;
  double now_ = 0;
};

void expect_true_of(const domain::RequestObservation& seen, const domain::RequestRecord& record) {
  constexpr double kRounding = 1e-6;
  double all = 0;
  double before_token = 0;
  ASSERT_EQ(record.stages.size(), domain::kAllStages.size());
  for (const auto& span : record.stages) {
    ASSERT_GE(span.critical_ms, 0);
    ASSERT_LE(span.critical_ms, span.ms + kRounding);
    ASSERT_GE(span.start_ms, 0);
    ASSERT_LE(span.start_ms + span.ms, record.total_ms + kRounding);
    all += span.critical_ms;
    if (span.stage == Stage::decode) continue;
    before_token += span.critical_ms;
    if (record.ttft_ms) {
      ASSERT_LE(span.start_ms + span.ms, *record.ttft_ms + kRounding);
    }
  }
  ASSERT_NEAR(all, record.total_ms, 0.001);
  ASSERT_EQ(record.ttft_ms.has_value(), seen.first_token.has_value());
  if (record.ttft_ms) {
    ASSERT_NEAR(before_token, *record.ttft_ms, 0.001);
  }
  ASSERT_NEAR(record.total_ms, std::max(0.0, base::to_ms(seen.finished - seen.received)), kRounding);
  if (!seen.start) {
    ASSERT_EQ(record.stages[static_cast<std::size_t>(Stage::process_start)].ms, 0);
  }
}

TEST(AssembleProperty, SumsHoldForAnyObservation) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Observations observations(seed);
    for (int i = 0; i < 1000; ++i) {
      const auto seen = observations.next();
      expect_true_of(seen, assemble(seen));
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", observation " << i;
    }
  }
}

}  // namespace
}  // namespace hearth::timeline
