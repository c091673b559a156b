#include "keeper/keep_view.h"

namespace hearth::keeper {
namespace {

using policy::KeepWish;

domain::KeepAlive keep_alive_of(const KeepWish& wish) {
  switch (wish.kind) {
    case KeepWish::Kind::forever:
      return domain::KeepAlive::forever();
    case KeepWish::Kind::unload:
      return {base::Duration::zero()};
    case KeepWish::Kind::span:
      return {wish.span};
  }
  return {};
}

// How much of it is left; Duration::max() is forever.
base::Duration left_of(policy::KeepVote vote, base::Mono now) {
  if (vote.in_flight > 0) vote.counted_from = now;
  vote.in_flight = 0;
  const auto until = vote.until();
  return until == base::Mono::max() ? base::Duration::max() : until - now;
}

std::optional<base::Wall> instant_of(base::Duration left, base::Wall wall) {
  if (left >= base::Wall::max() - wall) return std::nullopt;
  return wall + std::chrono::duration_cast<base::Wall::duration>(left);
}

}  // namespace

KeepWish wish_of(const domain::KeepAlive& keep_alive) {
  return keep_alive.is_forever() ? KeepWish::forever() : KeepWish::lasting(*keep_alive.span);
}

domain::Keep keep_of(const policy::KeepVotes& votes, bool pinned, base::Mono now, base::Wall wall) {
  domain::Keep keep;
  base::Duration longest{};
  for (const auto& vote : votes.votes()) {
    const auto left = left_of(vote, now);
    if (left <= base::Duration::zero() && vote.in_flight == 0) continue;
    keep.votes.push_back({.owner = vote.owner,
                          .wish = keep_alive_of(vote.wish),
                          .source = vote.source,
                          .until = instant_of(left, wall)});
    if (left <= longest) continue;
    longest = left;
    keep.source = vote.source;
    keep.until = keep.votes.back().until;
    keep.forever = !keep.until;
  }
  if (pinned) {
    keep.forever = true;
    keep.until.reset();
    keep.source = domain::KeepSource::pin;
  }
  return keep;
}

}  // namespace hearth::keeper
