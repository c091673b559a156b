#include "engine/log_tail.h"

#include <gtest/gtest.h>

namespace hearth::engine {
namespace {

using Lines = std::vector<std::string>;

TEST(LogTail, LinesComeTogetherFromAnyPieces) {
  LogTail tail;
  for (const char* piece : {"on", "e\ntwo", "\r\n", "\n", "thr"})
    tail.feed(piece);
  EXPECT_EQ(tail.lines(), (Lines{"one", "two", "thr"}));
  EXPECT_EQ(tail.bytes(), 13U);
}

TEST(LogTail, KeepsTheLastLinesAndCutsLongOnes) {
  LogTail tail({.lines = 2, .line_bytes = 4});
  tail.feed("1\n2\n123456789\n");
  tail.feed("1234");
  EXPECT_EQ(tail.lines(), (Lines{"2", "1234…", "1234"}));
  for (int i = 0; i < 1000; ++i)
    tail.feed("xxxxxxxx");
  EXPECT_EQ(tail.lines().back(), "1234…");
}

TEST(LogTail, WhatIsShownIsTextWhateverWasSaid) {
  EXPECT_EQ(to_showable("a\x1b[31mb\tc"), "a?[31mb c");
  EXPECT_EQ(to_showable("gr\xc3\xbc\xc3\x9f"), "grüß");
  EXPECT_EQ(to_showable("\xff\xc3(\xc0\x80\xe2\x82"),
            "?"
            "?(????");
  EXPECT_EQ(to_showable("\xed\xa0\x80"), "???");
}

TEST(TellingLine, IsTheFirstErrorThatNamesACause) {
  EXPECT_EQ(
      telling_line(
          {"0.00.060.119 E common_fit_params: encountered an error while trying to fit params to free device memory",
           "0.00.060.163 E gguf_init_from_file: failed to open GGUF file 'x' (No such file or directory)",
           "0.00.060.268 E srv    load_model: failed to load model, 'x'",
           "0.00.060.294 I srv    operator(): operator(): cleaning up before exit...",
           "0.00.061.221 E srv  llama_server: exiting due to model loading error"}),
      "gguf_init_from_file: failed to open GGUF file 'x' (No such file or directory)");
  EXPECT_EQ(telling_line({"usage", "error: invalid argument: --bogus"}), "error: invalid argument: --bogus");
  EXPECT_EQ(telling_line({"something", "the last word"}), "the last word");
  EXPECT_EQ(telling_line({}), "");
}

}  // namespace
}  // namespace hearth::engine
