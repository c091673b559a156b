#include "policy/niceness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::policy {
namespace {

using enum domain::ServiceClass;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int> values(std::vector<Worker> workers) { return nice_values(workers); }

TEST(Niceness, WhoWorksAloneIsNiceToNobodyButBackground) {
  EXPECT_THAT(values({{voice}}), ElementsAre(0));
  EXPECT_THAT(values({{interactive}, {std::nullopt}}), ElementsAre(0, 0));
  EXPECT_THAT(values({{background}}), ElementsAre(5));
}

TEST(Niceness, ALowerClassGivesWay) {
  EXPECT_THAT(values({{interactive}, {voice}, {background}}), ElementsAre(15, 0, 19));
  EXPECT_THAT(values({{background}, {interactive}}), ElementsAre(19, 0));
}

TEST(Niceness, OfOneClassOneHasTheTurn) {
  EXPECT_THAT(values({{voice, true}, {voice}, {interactive}}), ElementsAre(0, 10, 15));
  EXPECT_THAT(values({{background}, {background, true}}), ElementsAre(15, 5));
  EXPECT_THAT(values({{interactive, true}, {voice}}), ElementsAre(15, 0)) << "a turn counts among equals";
}

TEST(Niceness, WhoIsToldToHibernateIsWaitedFor) { EXPECT_THAT(values({{std::nullopt}, {voice}}), ElementsAre(0, 0)); }

TEST(Niceness, OnlyTheHighestClassTakesTurns) {
  const std::vector<Worker> workers = {{interactive}, {voice}, {interactive}, {voice}};
  EXPECT_THAT(in_turns(workers), ElementsAre(1, 3));
  EXPECT_THAT(in_turns(std::vector<Worker>{{interactive}, {voice}, {interactive}}), IsEmpty());
  EXPECT_THAT(in_turns(std::vector<Worker>{{std::nullopt}, {std::nullopt}}), IsEmpty());
}

TEST(Niceness, BackgroundThatWasOutrankedForTheBoundCountsAsInteractive) {
  const auto bound = std::chrono::minutes(15);
  EXPECT_EQ(as_it_counts({.works_for = background, .outranked = bound}, bound).works_for, interactive);
  EXPECT_EQ(as_it_counts({.works_for = background, .outranked = bound - base::Duration(1)}, bound).works_for,
            background);
  EXPECT_EQ(as_it_counts({.works_for = interactive, .outranked = bound}, bound).works_for, interactive);
  EXPECT_EQ(as_it_counts({.works_for = std::nullopt, .outranked = bound}, bound).works_for, std::nullopt);
}

TEST(Niceness, OnlyAHigherClassOutranks) {
  const std::vector<Worker> workers = {{interactive}, {std::nullopt}, {interactive}, {background}};
  EXPECT_FALSE(is_outranked(workers[0], workers));
  EXPECT_FALSE(is_outranked(workers[1], workers));
  EXPECT_TRUE(is_outranked(workers[3], workers));
}

TEST(Niceness, WhatLastsIsByTheModelsClass) {
  EXPECT_EQ(lasting_niceness(background), 10);
  EXPECT_EQ(lasting_niceness(interactive), 0);
  EXPECT_EQ(lasting_niceness(voice), 0);
}

}  // namespace
}  // namespace hearth::policy
