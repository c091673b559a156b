#include "timeline/server_timing.h"

#include <gtest/gtest.h>

namespace hearth::timeline {
namespace {

using domain::Stage;
using std::chrono::milliseconds;

const base::Mono kStart{std::chrono::hours(5)};

domain::StageSpan span_of(Stage stage, double ms) {
  return {.stage = stage, .start_ms = 0, .ms = ms, .critical_ms = ms, .bytes = {}};
}

TEST(ServerTiming, NamesTheStagesThatHappened) {
  const std::vector<domain::StageSpan> stages = {span_of(Stage::queue, 0.4), span_of(Stage::admission, 0),
                                                 span_of(Stage::process_start, 412.26),
                                                 span_of(Stage::chat_template, 0.04), span_of(Stage::first_decode, 1)};
  EXPECT_EQ(server_timing(stages), "queue;dur=0.4, process_start;dur=412.3, first_decode;dur=1.0");
  EXPECT_EQ(server_timing(std::vector<domain::StageSpan>{}), "");
}

TEST(ServerTiming, StaysWithinItsLength) {
  std::vector<domain::StageSpan> stages;
  for (int i = 0; i < 1000; ++i)
    stages.push_back(span_of(Stage::prefix_restore, 1e200));
  EXPECT_LE(server_timing(stages).size(), 1024U);
}

TEST(ServerTiming, AtHeaderTimeEndsWhereTheEngineBegan) {
  domain::RequestObservation seen;
  seen.received = kStart;
  seen.asked = kStart + milliseconds(1);
  seen.start = {.spawned = kStart + milliseconds(1),
                .listening = kStart + milliseconds(101),
                .ready = kStart + milliseconds(301),
                .blocked_on_storage = milliseconds(50),
                .bytes_read = {},
                .major_faults = {}};
  seen.admitted = kStart + milliseconds(301);
  seen.sent = kStart + milliseconds(303);
  EXPECT_EQ(server_timing(seen, kStart + milliseconds(900)),
            "admission;dur=1.0, storage_read;dur=50.0, process_start;dur=100.0, weights_load;dur=150.0, other;dur=2.0");
}

TEST(ServerTiming, OfAWholeAnswerNamesTheEngineToo) {
  domain::RequestObservation seen;
  seen.received = kStart;
  seen.asked = seen.admitted = seen.sent = kStart;
  seen.timings = domain::EngineTimings{.prompt_ms = 30, .generated_tokens = 5, .generated_ms = 60};
  EXPECT_EQ(server_timing(seen, kStart + milliseconds(92)), "prefill;dur=30.0, decode;dur=60.0, other;dur=2.0");
}

TEST(ServerTiming, OfARequestThatWasNotUnderstoodIsItsAdmission) {
  domain::RequestObservation seen;
  seen.received = kStart;
  EXPECT_EQ(server_timing(seen, kStart + milliseconds(3)), "admission;dur=3.0");
  EXPECT_EQ(server_timing(seen, kStart - milliseconds(3)), "");
}

}  // namespace
}  // namespace hearth::timeline
