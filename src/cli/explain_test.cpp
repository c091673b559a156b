#include "cli/explain.h"

#include <gtest/gtest.h>

namespace hearth::cli {
namespace {

domain::RequestRecord cold() {
  domain::RequestRecord record;
  record.status = 200;
  record.ttft_ms = 412;
  record.total_ms = 981.3;
  domain::Cause cause;
  cause.layer = domain::Layer::process;
  cause.ms = 310.2;
  cause.share = 0.7529;
  cause.confidence = domain::Confidence::measured;
  cause.because = {{.event = "never_started", .at = "2026-01-31T08:15:30.123Z", .by = {}, .for_whom = {}}};
  cause.remedy = {
      .action = domain::RemedyAction::keep_longer, .detail = "keep the model loaded longer", .saves_ms = 310};
  record.cause = cause;
  return record;
}

TEST(Explain, ColdStart) {
  EXPECT_EQ(
      explain_sentence(cold()),
      "412 ms to the first token; 310 ms (75 %) of it was starting the engine process, because the model had not been "
      "started since the server came up; to avoid it: keep the model loaded longer.");
}

TEST(Explain, SaysWhatWasPromisedOfAColdStart) {
  auto record = cold();
  record.service_class = domain::ServiceClass::voice;
  record.cold_start = {
      .expected_ms = 4200, .limit_ms = 1500, .kept = false, .why = "a cold start of 4.2 s is accepted"};
  EXPECT_TRUE(explain_sentence(record).ends_with("; for class voice, a cold start of 4.2 s is accepted."));
}

TEST(Explain, SaysWhoStoppedIt) {
  auto record = cold();
  record.cause->because = {
      {.event = "process_stopped", .at = "2026-01-31T08:00:00.000Z", .by = "server, idle for 300 s", .for_whom = {}}};
  EXPECT_NE(explain_sentence(record).find(
                "because its engine was stopped at 2026-01-31T08:00:00.000Z (server, idle for 300 s);"),
            std::string::npos);
  record.cause->because = {
      {.event = "pages_evicted", .at = "2026-01-31T08:00:00.000Z", .by = "memory pressure", .for_whom = "model b"}};
  EXPECT_NE(explain_sentence(record).find(
                "because of \"pages evicted\" at 2026-01-31T08:00:00.000Z (memory pressure) for model b;"),
            std::string::npos);
}

TEST(Explain, SaysWhatItOnlyInfers) {
  auto record = cold();
  record.cause->confidence = domain::Confidence::inferred;
  record.cause->layer = domain::Layer::prefix;
  record.cause->because.clear();
  EXPECT_EQ(explain_sentence(record),
            "412 ms to the first token; 310 ms (75 %) of it was, as far as can be told, evaluating a prompt that was "
            "not held; "
            "to avoid it: keep the model loaded longer.");
}

TEST(Explain, ABoundedColdStartIsAccepted) {
  auto record = cold();
  record.cause->remedy = {.action = domain::RemedyAction::accept, .detail = "a bounded cold start", .saves_ms = {}};
  EXPECT_TRUE(explain_sentence(record).ends_with("; to be accepted: a bounded cold start."));
}

TEST(Explain, WithoutACause) {
  auto record = cold();
  record.cause.reset();
  EXPECT_EQ(explain_sentence(record), "412 ms to the first token; no layer missed.");
  record.ttft_ms.reset();
  EXPECT_EQ(explain_sentence(record), "981 ms for the whole answer; no layer missed.");
  record.status = 502;
  record.error = "the engine died";
  EXPECT_EQ(explain_sentence(record), "981 ms and no token; it failed: the engine died.");
}

TEST(Explain, AWholeAnswerWaitedToo) {
  auto record = cold();
  record.ttft_ms.reset();
  EXPECT_TRUE(
      explain_sentence(record).starts_with("981 ms for the whole answer; 310 ms (75 %) of the wait was starting"));
}

TEST(Explain, TextFromOutsideStaysOneLine) {
  auto record = cold();
  record.cause->because = {{.event = "a\nb\x1b[31m", .at = std::string(10000, 'x'), .by = "\r\n", .for_whom = "\t"}};
  record.cause->remedy.detail = "\x1b]0;x\x07";
  const auto sentence = explain_sentence(record);
  EXPECT_EQ(sentence.find_first_of("\n\r\x1b\x07\t"), std::string::npos);
  EXPECT_LT(sentence.size(), 1000U);
}

TEST(FormatMs, HasTheFiguresThatMatter) {
  EXPECT_EQ(format_ms(0), "0.0 ms");
  EXPECT_EQ(format_ms(0.44), "0.4 ms");
  EXPECT_EQ(format_ms(9.96), "10 ms");
  EXPECT_EQ(format_ms(412.4), "412 ms");
  EXPECT_EQ(format_ms(9999.4), "9999 ms");
  EXPECT_EQ(format_ms(12345), "12.3 s");
}

}  // namespace
}  // namespace hearth::cli
