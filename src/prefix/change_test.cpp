#include "prefix/change.h"

#include <gtest/gtest.h>

namespace hearth::prefix {
namespace {

// A token for each byte: what a tokenizer does is not the point here.
Tokens tokens_of(std::string_view text) { return {text.begin(), text.end()}; }

std::string home(std::string_view moving) {
  return "You control a house. It is now " + std::string(moving) + " here. " + std::string(300, 'd') + " devices";
}

Change change_between(std::string_view before, std::string_view after) {
  const std::string one = home(before);
  const std::string other = home(after);
  return find_change(one, tokens_of(one), other, tokens_of(other)).value_or(Change{});
}

TEST(Change, NamesAClockWhereItStands) {
  const Change change = change_between("12:04", "12:05");
  EXPECT_EQ(change.token, home("").find(" here") + 4);
  EXPECT_EQ(phrase_of(change.kind), "a clock");
  EXPECT_EQ(change.before, "12:04");
  EXPECT_EQ(change.after, "12:05");
  EXPECT_GT(change.tokens, 300U);
}

TEST(Change, NamesOtherThingsThatMove) {
  EXPECT_EQ(change_between("2026-05-01", "2026-05-02").kind, ChangeKind::date);
  EXPECT_EQ(change_between("May", "June").kind, ChangeKind::date);
  EXPECT_EQ(change_between("Monday", "Sunday").kind, ChangeKind::weekday);
  EXPECT_EQ(change_between("21.5", "21.75").kind, ChangeKind::number);
  EXPECT_EQ(change_between("7f3a9c21", "7f3b0d55").kind, ChangeKind::identifier);
  EXPECT_EQ(change_between("raining", "sunny").kind, ChangeKind::text);
}

TEST(Change, PromptsThatGoOnDifferentlyHaveNoChangeToName) {
  const std::string one = "You control a house. Turn on the lights " + std::string(200, 'x');
  const std::string other = "You control a house. Play some music " + std::string(200, 'y');
  EXPECT_FALSE(find_change(one, tokens_of(one), other, tokens_of(other)));
  EXPECT_FALSE(find_change(one, tokens_of(one), one, tokens_of(one)));
  EXPECT_FALSE(find_change("", {}, one, tokens_of(one)));
}

TEST(Change, WhatIsShownIsCutAndFitToPrint) {
  const Change change = change_between("\x1b[31m" + std::string(500, 'a'), "\x1b[31m" + std::string(500, 'b'));
  EXPECT_LE(change.before.size(), 60U);
  EXPECT_EQ(change.before.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace hearth::prefix
