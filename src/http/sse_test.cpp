#include "http/sse.h"

#include <gmock/gmock.h>

#include <vector>

namespace hearth::http {
namespace {

using testing::ElementsAre;

std::vector<std::string> events_of(SseSplitter& splitter, std::string_view bytes) {
  std::vector<std::string> events;
  splitter.feed(bytes, [&](std::string_view event) { events.emplace_back(event); });
  return events;
}

TEST(Sse, EverySplitGivesTheSameEvents) {
  const std::string text = "data: {\"a\":1}\n\n: ping\n\nevent: x\ndata: 2\n\ndata: [DONE]\n\n";
  SseSplitter whole;
  const auto expected = events_of(whole, text);
  ASSERT_EQ(expected.size(), 4U);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    SseSplitter splitter;
    auto events = events_of(splitter, std::string_view(text).substr(0, cut));
    for (auto& event : events_of(splitter, std::string_view(text).substr(cut)))
      events.push_back(event);
    EXPECT_EQ(events, expected) << "cut at " << cut;
    EXPECT_EQ(splitter.take_rest(), "");
  }
}

TEST(Sse, TheRestIsKeptUntilTaken) {
  SseSplitter splitter;
  EXPECT_THAT(events_of(splitter, "data: 1\n\ndata: 2\n"), ElementsAre("data: 1\n\n"));
  EXPECT_EQ(splitter.take_rest(), "data: 2\n");
}

TEST(Sse, AnEndlessEventIsPassedOnInPieces) {
  SseSplitter splitter;
  std::size_t passed = 0;
  const std::string piece(1U << 20, 'x');
  for (int i = 0; i < 20; ++i)
    splitter.feed(piece, [&](std::string_view event) { passed += event.size(); });
  EXPECT_EQ(passed + splitter.take_rest().size(), 20U << 20);
  EXPECT_GT(passed, 0U);
}

TEST(Sse, DataIsTheFirstDataField) {
  EXPECT_EQ(data_of("event: x\ndata: {\"a\":1}\n\n"), "{\"a\":1}");
  EXPECT_EQ(data_of("data:1\n\n"), "1");
  EXPECT_EQ(data_of(": comment\n\n"), "");
}

}  // namespace
}  // namespace hearth::http
