#pragma once
// How long a model stays after its last request, when several clients wish different things.
//
// Each owner (a client, the configuration, a schedule) has one vote per model: a span that counts from the end of that
// owner's last request. The longest vote wins until its owner's time is up. A request without a wish renews its owner's
// vote, or casts the default. An explicit unload ends all votes at once; later requests vote anew. A pin is no vote: it
// is not over until it is taken back.
// The text grammar of clients is read elsewhere; here a wish is a plain value.
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "domain/keep_alive.h"

namespace hearth::policy {

// Nobody means an instant that far away; and no clock here reaches more than three of them.
inline constexpr base::Duration kCentury = std::chrono::years(100);

struct KeepWish {
  enum class Kind { span, forever, unload };
  Kind kind = Kind::span;
  base::Duration span = {};  // less than a century

  // Zero or less is unload, a century or more is forever.
  [[nodiscard]] static KeepWish lasting(base::Duration span);
  [[nodiscard]] static KeepWish forever() { return {.kind = Kind::forever}; }
  [[nodiscard]] static KeepWish unload() { return {.kind = Kind::unload}; }
  friend bool operator==(const KeepWish&, const KeepWish&) = default;
};

using domain::KeepSource;

struct KeepVote {
  std::string owner;
  KeepSource source = KeepSource::request;
  KeepWish wish;
  base::Mono counted_from = {};  // the end of the owner's last request
  std::size_t in_flight = 0;     // of the owner: its time does not run while a request does

  // Mono::max(): forever, or not before its request ends.
  [[nodiscard]] base::Mono until() const;
};

struct KeepVerdict {
  bool unload_now = false;
  // Mono::max(): forever, or not before a request ends; empty: nobody wishes to keep it.
  std::optional<base::Mono> until;
  bool forever = false;  // somebody wishes so, whatever runs at the moment
  std::string owner;     // whose vote decides
  KeepSource source = KeepSource::config;
};

// The votes on one model. A value; bounded: beyond kMostOwners the vote that ends first goes.
class KeepVotes {
 public:
  static constexpr std::size_t kMostOwners = 32;

  // A request of this owner began. `wish`: what it said; empty: nothing. `fallback`: what holds for one who says
  // nothing and has no vote.
  void request_began(const std::string& owner, const std::optional<KeepWish>& wish, const KeepWish& fallback,
                     base::Mono now);
  // It ended: its time begins to run.
  void request_ended(const std::string& owner, base::Mono now);
  // Without a request: from the API, the configuration or a schedule. An unload ends every vote.
  void wish(const std::string& owner, KeepSource source, const KeepWish& wish, base::Mono now);
  void withdraw(const std::string& owner);
  // The model is gone: a new life starts without votes.
  void clear();

  // Votes whose time is up no longer count. unload_now: after an explicit unload, until clear(), the next request or
  // the next wish to keep it; and where nobody keeps it and the last word of somebody was 0.
  [[nodiscard]] KeepVerdict verdict(base::Mono now) const;
  [[nodiscard]] const std::vector<KeepVote>& votes() const { return votes_; }

 private:
  void wish_unload();
  KeepVote& vote_of(const std::string& owner, base::Mono now);
  std::vector<KeepVote> votes_;
  bool unload_ = false;
};

}  // namespace hearth::policy
