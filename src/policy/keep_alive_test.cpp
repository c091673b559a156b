#include "policy/keep_alive.h"

#include <gtest/gtest.h>

#include "policy/test_models.h"

namespace hearth::policy {
namespace {

using namespace std::chrono_literals;
using test::at;

const KeepWish kDefault = KeepWish::lasting(5min);

void one_request(KeepVotes& votes, const std::string& owner, const std::optional<KeepWish>& wish, double end_s) {
  votes.request_began(owner, wish, kDefault, at(end_s - 1));
  votes.request_ended(owner, at(end_s));
}

TEST(KeepVotes, TheLongestWinsUntilItsOwnersTimeIsUp) {
  KeepVotes votes;
  one_request(votes, "a", KeepWish::lasting(2h), 0);
  one_request(votes, "b", std::nullopt, 10);
  one_request(votes, "c", KeepWish::lasting(10s), 20);
  const auto verdict = votes.verdict(at(60));
  EXPECT_EQ(verdict.until, at(7200));
  EXPECT_EQ(verdict.owner, "a");
  EXPECT_EQ(verdict.source, KeepSource::request);
  EXPECT_EQ(votes.votes().size(), 3U);
  EXPECT_FALSE(votes.verdict(at(7201)).until.has_value());
}

TEST(KeepVotes, ARequestWithoutAWishRenewsItsOwnersVote) {
  KeepVotes votes;
  one_request(votes, "a", KeepWish::lasting(1h), 0);
  one_request(votes, "a", std::nullopt, 100);
  EXPECT_EQ(votes.verdict(at(100)).until, at(3700));
}

TEST(KeepVotes, TimeCountsFromTheEndOfTheLastRequest) {
  KeepVotes votes;
  votes.request_began("a", KeepWish::lasting(10s), kDefault, at(0));
  votes.request_began("a", std::nullopt, kDefault, at(1));
  votes.request_ended("a", at(2));
  EXPECT_EQ(votes.verdict(at(100)).until, base::Mono::max()) << "one still runs";
  EXPECT_FALSE(votes.verdict(at(100)).forever);
  votes.request_ended("a", at(100));
  EXPECT_EQ(votes.verdict(at(100)).until, at(110));
}

TEST(KeepVotes, AnExplicitUnloadEndsEveryVoteAtOnce) {
  KeepVotes votes;
  one_request(votes, "a", KeepWish::forever(), 0);
  EXPECT_EQ(votes.verdict(at(1)).until, base::Mono::max());
  EXPECT_TRUE(votes.verdict(at(1)).forever);
  votes.wish("api", KeepSource::api, KeepWish::unload(), at(2));
  EXPECT_TRUE(votes.verdict(at(2)).unload_now);
  EXPECT_FALSE(votes.verdict(at(2)).until.has_value());
  one_request(votes, "b", std::nullopt, 10);
  EXPECT_FALSE(votes.verdict(at(10)).unload_now) << "a later request starts anew";
  EXPECT_EQ(votes.verdict(at(10)).until, at(310));
}

TEST(KeepVotes, ARequestThatSaysZeroUnloadsWhenItIsOver) {
  KeepVotes votes;
  one_request(votes, "a", KeepWish::lasting(1h), 0);
  votes.request_began("b", KeepWish::lasting(0s), kDefault, at(1));
  EXPECT_FALSE(votes.verdict(at(2)).unload_now);
  votes.request_ended("b", at(3));
  EXPECT_TRUE(votes.verdict(at(3)).unload_now);
}

TEST(KeepVotes, ADefaultOfZeroDoesNotOverruleAnybody) {
  KeepVotes votes;
  one_request(votes, "a", KeepWish::lasting(1h), 0);
  votes.request_began("b", std::nullopt, KeepWish::unload(), at(1));
  votes.request_ended("b", at(2));
  EXPECT_FALSE(votes.verdict(at(2)).unload_now);
  EXPECT_EQ(votes.verdict(at(2)).owner, "a");
  EXPECT_TRUE(votes.verdict(at(3601)).unload_now) << "but it counts once nobody keeps it";
}

TEST(KeepVotes, CenturiesAreForever) {
  KeepVotes votes;
  one_request(votes, "a", KeepWish::lasting(std::chrono::hours(24 * 366 * 290)), 0);
  EXPECT_EQ(votes.verdict(at(0)).until, base::Mono::max());
  EXPECT_EQ(KeepWish::lasting(kCentury), KeepWish::forever());
  EXPECT_EQ(KeepWish::lasting(kCentury - 1s).kind, KeepWish::Kind::span);
}

TEST(KeepVotes, AWishAfterAnUnloadCounts) {
  KeepVotes votes;
  votes.wish("api", KeepSource::api, KeepWish::unload(), at(0));
  EXPECT_TRUE(votes.verdict(at(0)).unload_now);
  votes.wish("schedule", KeepSource::schedule, KeepWish::lasting(60s), at(1));
  EXPECT_FALSE(votes.verdict(at(1)).unload_now);
  EXPECT_EQ(votes.verdict(at(1)).until, at(61));
}

TEST(KeepVotes, StaysBounded) {
  KeepVotes votes;
  one_request(votes, "keeper", KeepWish::forever(), 0);
  for (int i = 0; i < 1000; ++i)
    one_request(votes, "client " + std::to_string(i), std::nullopt, i);
  EXPECT_EQ(votes.votes().size(), KeepVotes::kMostOwners);
  EXPECT_EQ(votes.verdict(at(1000)).owner, "keeper");
}

}  // namespace
}  // namespace hearth::policy
