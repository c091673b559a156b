#include "policy/keep_alive.h"

#include <algorithm>

namespace hearth::policy {

KeepWish KeepWish::lasting(base::Duration span) {
  if (span <= base::Duration::zero()) return unload();
  if (span >= kCentury) return forever();
  return {.kind = Kind::span, .span = span};
}

base::Mono KeepVote::until() const {
  if (wish.kind == KeepWish::Kind::forever || in_flight > 0) return base::Mono::max();
  if (wish.kind == KeepWish::Kind::unload) return counted_from;
  return counted_from + wish.span;
}

KeepVote& KeepVotes::vote_of(const std::string& owner, base::Mono now) {
  const auto found = std::ranges::find(votes_, owner, &KeepVote::owner);
  if (found != votes_.end()) return *found;
  if (votes_.size() >= kMostOwners)
    votes_.erase(std::ranges::min_element(votes_, {}, [](const KeepVote& vote) { return vote.until(); }));
  return votes_.emplace_back(KeepVote{.owner = owner, .counted_from = now});
}

void KeepVotes::request_began(const std::string& owner, const std::optional<KeepWish>& wish, const KeepWish& fallback,
                              base::Mono now) {
  unload_ = false;
  const bool known = std::ranges::find(votes_, owner, &KeepVote::owner) != votes_.end();
  KeepVote& vote = vote_of(owner, now);
  ++vote.in_flight;
  if (wish || !known) {
    vote.wish = wish.value_or(fallback);
    vote.source = wish ? KeepSource::request : KeepSource::config;
  }
}

void KeepVotes::request_ended(const std::string& owner, base::Mono now) {
  const auto found = std::ranges::find(votes_, owner, &KeepVote::owner);
  if (found == votes_.end()) return;
  found->counted_from = now;
  if (found->in_flight > 0) --found->in_flight;
  const bool says_unload = found->wish.kind == KeepWish::Kind::unload && found->source == KeepSource::request;
  if (found->in_flight == 0 && says_unload) wish_unload();
}

void KeepVotes::wish(const std::string& owner, KeepSource source, const KeepWish& wish, base::Mono now) {
  if (wish.kind == KeepWish::Kind::unload) return wish_unload();
  unload_ = false;
  KeepVote& vote = vote_of(owner, now);
  vote.source = source;
  vote.wish = wish;
  vote.counted_from = now;
}

void KeepVotes::wish_unload() {
  unload_ = true;
  // Whoever still has a request running keeps a place, so that its end is counted.
  std::erase_if(votes_, [](const KeepVote& vote) { return vote.in_flight == 0; });
  for (KeepVote& vote : votes_)
    vote.wish = KeepWish::unload();
}

void KeepVotes::withdraw(const std::string& owner) {
  std::erase_if(votes_, [&owner](const KeepVote& vote) { return vote.owner == owner && vote.in_flight == 0; });
}

void KeepVotes::clear() {
  votes_.clear();
  unload_ = false;
}

KeepVerdict KeepVotes::verdict(base::Mono now) const {
  if (unload_) return {.unload_now = true};
  KeepVerdict verdict;
  for (const KeepVote& vote : votes_) {
    verdict.forever |= vote.wish.kind == KeepWish::Kind::forever;
    const base::Mono until = vote.until();
    if (until <= now || (verdict.until && until <= *verdict.until)) continue;
    verdict.until = until;
    verdict.owner = vote.owner;
    verdict.source = vote.source;
  }
  verdict.unload_now = !verdict.until && std::ranges::any_of(votes_, [](const KeepVote& vote) {
    return vote.wish.kind == KeepWish::Kind::unload;
  });
  return verdict;
}

}  // namespace hearth::policy
