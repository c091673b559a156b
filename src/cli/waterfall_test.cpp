#include "cli/waterfall.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace hearth::cli {
namespace {

using domain::Stage;

domain::StageSpan& span_of(domain::RequestRecord& record, Stage stage) {
  return record.stages.at(static_cast<std::size_t>(stage));
}

void put(domain::RequestRecord& record, Stage stage, double from, double ms) {
  auto& span = span_of(record, stage);
  span.start_ms = from;
  span.ms = span.critical_ms = ms;
}

domain::RequestRecord empty_record() {
  domain::RequestRecord record;
  record.status = 200;
  for (const Stage stage : domain::kAllStages)
    record.stages.emplace_back().stage = stage;
  return record;
}

// A cold start of 400 ms to the first token, then 200 ms of decode.
domain::RequestRecord cold() {
  auto record = empty_record();
  record.model = "hearth-mini";
  record.ttft_ms = 400;
  record.total_ms = 600;
  record.tokens = domain::TokenCounts{.prompt = 120, .cached = 96, .generated = 9};
  record.decode_tokens_per_s = 40;
  put(record, Stage::admission, 0, 0.4);
  put(record, Stage::queue, 0.4, 0.02);
  put(record, Stage::process_start, 0.4, 99.6);
  put(record, Stage::weights_load, 100, 240);
  put(record, Stage::storage_read, 100, 40);
  span_of(record, Stage::weights_load).critical_ms = 200;
  span_of(record, Stage::storage_read).bytes = 703'204'704;
  span_of(record, Stage::storage_read).source = domain::Source::kernel;
  put(record, Stage::prefill, 340, 50);
  span_of(record, Stage::prefill).source = domain::Source::engine;
  put(record, Stage::first_decode, 390, 10);
  put(record, Stage::decode, 400, 200);
  return record;
}

domain::RequestRecord long_decode() {
  auto record = cold();
  record.total_ms = 5400;
  put(record, Stage::decode, 400, 5000);
  return record;
}

std::string drawn(const std::string& text) { return std::string("\n").append(text); }

TEST(Waterfall, ColdStart) {
  EXPECT_EQ(drawn(waterfall(cold(), {.columns = 90})), R"(
hearth-mini: first token 400 ms, total 600 ms; tokens: 120 in (96 cached), 9 out, 40.0/s
  stage                 ms  of ttft              first token ▼
  admission            0.4      0 %  ▏                       │                      hearth
  process_start       99.6     25 %  ██████                  │                      hearth
  storage_read        40.0     10 %        ██▍               │              703 MB  kernel
  weights_load       200.0     50 %        ▒▒▒▒▒▒▒▒▒▒▒▒▒▒    │                      hearth
  prefill             50.0     12 %                      ███▍│                      engine
  first_decode        10.0      2 %                         █│                      hearth
  decode             200.0                                   ████████████           hearth
▒ overlaps another stage; its ms are its own share.
400 ms to the first token; no layer missed.
)");
}

TEST(Waterfall, InAscii) {
  EXPECT_EQ(drawn(waterfall(cold(), {.columns = 90, .ascii = true})), R"(
hearth-mini: first token 400 ms, total 600 ms; tokens: 120 in (96 cached), 9 out, 40.0/s
  stage                 ms  of ttft              first token v
  admission            0.4      0 %  #                       |                      hearth
  process_start       99.6     25 %  ######                  |                      hearth
  storage_read        40.0     10 %        ##                |              703 MB  kernel
  weights_load       200.0     50 %        ==============    |                      hearth
  prefill             50.0     12 %                      ### |                      engine
  first_decode        10.0      2 %                         #|                      hearth
  decode             200.0                                   ############           hearth
= overlaps another stage; its ms are its own share.
400 ms to the first token; no layer missed.
)");
}

TEST(Waterfall, LongDecodeIsCompressed) {
  EXPECT_EQ(drawn(waterfall(long_decode(), {.columns = 90})), R"(
hearth-mini: first token 400 ms, total 5400 ms; tokens: 120 in (96 cached), 9 out, 40.0/s
  stage                 ms  of ttft                  first token ▼
  admission            0.4      0 %  ▏                           │                  hearth
  process_start       99.6     25 %  ███████                     │                  hearth
  storage_read        40.0     10 %         ██▊                  │          703 MB  kernel
  weights_load       200.0     50 %         ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒    │                  hearth
  prefill             50.0     12 %                         ████▎│                  engine
  first_decode        10.0      2 %                             █│                  hearth
  decode            5000.0                                       │██████»           hearth
The axis ends at the first token; decode is drawn compressed behind it.
▒ overlaps another stage; its ms are its own share.
400 ms to the first token; no layer missed.
)");
}

TEST(Waterfall, Narrow) {
  EXPECT_EQ(drawn(waterfall(cold(), {.columns = 60})), R"(
hearth-mini: first token 400 ms, total 600 ms; tokens: 120
in (96 cached), 9 out, 40.0/s
  stage                 ms  of ttft     first token ▼
  admission            0.4      0 %  ▏              │
  process_start       99.6     25 %  ███▊           │
  storage_read        40.0     10 %     ██▎         │
  weights_load       200.0     50 %     ▒▒▒▒▒▒▒▒▒▒  │
  prefill             50.0     12 %               █▉│
  first_decode        10.0      2 %                █▎
  decode             200.0                          ████████
▒ overlaps another stage; its ms are its own share.
400 ms to the first token; no layer missed.
)");
}

TEST(Waterfall, Failed) {
  auto record = empty_record();
  record.status = 502;
  record.error = "engine llama-server ended with exit status 1";
  record.total_ms = 120;
  put(record, Stage::process_start, 20, 100);
  put(record, Stage::queue, 0, 20);
  EXPECT_EQ(drawn(waterfall(record, {.columns = 80})), R"(
no model: total 120 ms
  stage                 ms   of all
  queue               20.0     17 %  █████▊                               hearth
  process_start      100.0     83 %       ██████████████████████████████  hearth
120 ms and no token; it failed: engine llama-server ended with exit status 1.
)");
}

TEST(Waterfall, ColourIsOnlyAddedToTheSameText) {
  const auto plain = waterfall(cold(), {.columns = 90});
  std::string coloured = waterfall(cold(), {.columns = 90, .colour = true});
  EXPECT_NE(coloured.find("\x1b[33m"), std::string::npos);
  for (auto from = coloured.find('\x1b'); from != std::string::npos; from = coloured.find('\x1b')) {
    coloured.erase(from, coloured.find('m', from) - from + 1);
  }
  EXPECT_EQ(coloured, plain);
}

TEST(Waterfall, EveryLineFitsEveryTerminal) {
  for (std::size_t columns = 50; columns <= 200; ++columns) {
    const auto text = waterfall(columns % 2 == 0 ? cold() : long_decode(), {.columns = columns, .ascii = true});
    for (std::size_t from = 0; from < text.size();) {
      const auto end = text.find('\n', from);
      EXPECT_LE(end - from, columns) << text.substr(from, end - from);
      from = end + 1;
    }
  }
}

TEST(Waterfall, HostileRecordsAreDrawnAllTheSame) {
  auto record = cold();
  record.model = std::string(100000, 'x');
  record.model->replace(0, 5, "\x1b[2J\xff");
  record.error = std::string(3, '\n');
  for (const double ms : {0.0, 1e15, 1e-9}) {
    for (const Stage stage : domain::kAllStages)
      put(record, stage, ms * 3, ms);
    for (const std::size_t columns : {std::size_t{0}, std::size_t{1}, ~std::size_t{0}}) {
      for (const bool ascii : {false, true}) {
        record.total_ms = ms;
        record.ttft_ms = ms * 2;
        const auto text = waterfall(record, {.columns = columns, .ascii = ascii});
        EXPECT_EQ(text.find('\x1b'), std::string::npos);
        EXPECT_LT(text.size(), 20000U);
        const bool all_ascii = std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
        EXPECT_TRUE(!ascii || all_ascii);
      }
    }
  }
  EXPECT_FALSE(waterfall({}, {}).empty());
}

std::map<std::string, std::string> variables;
const char* variable(const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : found->second.c_str();
}

TEST(WaterfallStyle, FollowsThePlace) {
  variables = {{"LANG", "en_GB.UTF-8"}, {"TERM", "xterm"}};
  EXPECT_TRUE(waterfall_style(true, 120, variable).colour);
  EXPECT_FALSE(waterfall_style(true, 120, variable).ascii);
  EXPECT_EQ(waterfall_style(true, 120, variable).columns, 120U);
  EXPECT_EQ(waterfall_style(true, 0, variable).columns, 80U);
  EXPECT_FALSE(waterfall_style(false, 0, variable).colour);
  variables.insert_or_assign("NO_COLOR", std::string("1"));
  EXPECT_FALSE(waterfall_style(true, 0, variable).colour);
  variables.insert_or_assign("NO_COLOR", std::string());
  EXPECT_TRUE(waterfall_style(true, 0, variable).colour);
  variables.insert_or_assign("TERM", std::string("dumb"));
  EXPECT_FALSE(waterfall_style(true, 0, variable).colour);
}

TEST(WaterfallStyle, FollowsTheLocale) {
  variables = {{"LC_ALL", "C"}, {"LANG", "en_GB.UTF-8"}};
  EXPECT_TRUE(waterfall_style(true, 0, variable).ascii);
  variables = {{"LC_ALL", ""}, {"LANG", "C.utf8"}};
  EXPECT_FALSE(waterfall_style(true, 0, variable).ascii);
  variables = {};
  EXPECT_TRUE(waterfall_style(true, 0, variable).ascii);
}

}  // namespace
}  // namespace hearth::cli
