#include "client/sse_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hearth::client {
namespace {

using testing::ElementsAre;

std::vector<std::string> read_in_pieces(std::string_view text, std::size_t piece) {
  SseReader reader(1000);
  std::vector<std::string> seen;
  const auto sink = [&seen](const SseEvent& event) {
    seen.push_back(event.name.empty() ? event.data : event.name + "=" + event.data);
    return true;
  };
  for (std::size_t at = 0; at < text.size(); at += piece)
    EXPECT_TRUE(reader.feed(text.substr(at, piece), sink));
  return seen;
}

TEST(SseReader, FindsTheSameEventsHoweverTheBytesAreCut) {
  constexpr std::string_view kText =
      ": ping\n\ndata: one\n\nevent: note\r\ndata:two\r\ndata: lines\r\n\r\nid: 7\nretry: 5\n\ndata\n\ndata: "
      "[DONE]\r\rdata: unfinished";
  for (std::size_t piece = 1; piece < kText.size(); ++piece) {
    EXPECT_THAT(read_in_pieces(kText, piece), ElementsAre("one", "note=two\nlines", "", "[DONE]")) << piece;
  }
}

TEST(SseReader, StopsWhenTold) {
  SseReader reader(100);
  int seen = 0;
  EXPECT_EQ(reader.feed("data: 1\n\ndata: 2\n\n", [&](const SseEvent&) { return ++seen < 1; }).value(), false);
  EXPECT_EQ(seen, 1);
}

TEST(SseReader, RefusesLinesAndEventsWithoutEnd) {
  const auto ignore = [](const SseEvent&) { return true; };
  EXPECT_EQ(SseReader(100).feed(std::string(101, 'x'), ignore).error().code, base::ErrorCode::too_large);
  std::string event;
  for (int i = 0; i < 20; ++i)
    event += "data: 0123456789\n";
  EXPECT_EQ(SseReader(100).feed(event, ignore).error().code, base::ErrorCode::too_large);
}

}  // namespace
}  // namespace hearth::client
