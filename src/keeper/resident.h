#pragma once
// What the keeper knows of one model while the server runs: its supervisor, who holds it, and what was measured of it.
// Shared by the Keeper and by whoever waits for it or holds it: a model may be removed while somebody waits.
// Thread: the I/O thread.
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>

#include "base/clock.h"
#include "domain/model.h"
#include "engine/supervisor.h"
#include "keeper/lessons.h"
#include "keeper/needs.h"
#include "keeper/prefill_speed.h"
#include "keeper/prefix_session.h"
#include "policy/keep_alive.h"

namespace hearth::keeper {

class Resident {
 public:
  static constexpr std::size_t kTimesRemembered = 16;  // of starts, and of first tokens

  // `slots`: how many requests the engine works on at a time; the rest wait inside it.
  Resident(std::unique_ptr<engine::Supervisor> supervisor, unsigned slots)
      : supervisor_(std::move(supervisor)), slots_(slots) {}

  [[nodiscard]] engine::Supervisor& supervisor() { return *supervisor_; }
  [[nodiscard]] const engine::Supervisor& supervisor() const { return *supervisor_; }

  void request_began(base::Wall at);
  void request_ended();
  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }
  // It works, for an asker of this class (from before a start is waited for, to the end of the request) or, without
  // one, by itself: it is started because of what is expected, or its prefixes are looked after. Held by a Work.
  void work_began(std::optional<domain::ServiceClass> asker) { ++work_for(asker); }
  void work_ended(std::optional<domain::ServiceClass> asker) { --work_for(asker); }
  // Of askers.
  [[nodiscard]] std::size_t claims() const { return std::accumulate(claims_.begin(), claims_.end(), std::size_t{0}); }
  [[nodiscard]] bool awaited() const { return claims() > 0 || in_flight_ > 0; }
  [[nodiscard]] std::size_t tasks() const { return claims() + own_work_; }
  // The highest class that it works for; its own work is background. Empty: it is idle.
  [[nodiscard]] std::optional<domain::ServiceClass> works_for() const;
  [[nodiscard]] std::uint64_t requests() const { return requests_; }  // begun so far
  [[nodiscard]] bool every_slot_taken() const { return in_flight_ >= slots_; }
  // Its weights were told to leave memory, and nobody has asked for it since. Ends with the process. `pages_kept`: they
  // are still there, for the kernel to take when it wants memory.
  void set_hibernated(bool hibernated, bool pages_kept = false) {
    hibernated_in_ = hibernated ? supervisor_->generation() : 0;
    pages_kept_ = pages_kept;
  }
  [[nodiscard]] bool pages_kept() const { return pages_kept_ && hibernated(); }
  [[nodiscard]] bool hibernated() const {
    return hibernated_in_ != 0 && hibernated_in_ == supervisor_->generation() &&
           supervisor_->state() == domain::ModelState::ready;
  }
  // What a request that ran alone read from storage for so many tokens, and how large its weights are.
  void note_reading(base::Bytes read, base::Bytes weights, std::int64_t tokens);
  // Notes how long a start took, for the estimate.
  void started_in(base::Duration duration);
  // The median of the starts that are remembered; empty before the first.
  [[nodiscard]] std::optional<double> typical_start_s() const;

  // Times of earlier runs, which count as older than those of this one.
  void recall(const PastTimes& past);

  // Notes how long a ready engine took to its first token.
  void first_token_in(base::Duration duration);
  // The median of those that are remembered; empty before the first.
  [[nodiscard]] std::optional<double> typical_ttft_s() const;

  // What the engine says of an answer for which nothing was warmed, and of one that its weights came back beside, from
  // the disk.
  void answered_warm(const domain::EngineTimings& timings) { speed_.learn(timings); }
  void answered_woken(const domain::EngineTimings& timings);
  // What a request that wakes it waits longer than a warm one, in the median; before that is known, how long its
  // weights took to come back. Empty before the first wake.
  [[nodiscard]] std::optional<double> typical_wake_s() const;

  // What the supervisor says, with busy for an engine that a request is using, and hibernated.
  [[nodiscard]] domain::ModelState state() const;
  // Puts state, failure, process, counts and the estimate of a start into the view.
  void describe(domain::ModelView& view) const;

  // Layer readings cost a walk through the page cache; requests that come together share one.
  struct Readings {
    base::Mono at;
    domain::LayerReadings layers;
  };
  std::optional<Readings> readings;
  std::optional<std::uint64_t> context;        // tokens that one request may have, where that is known
  Needs needs;                                 // what a load is expected to take, by its file
  std::optional<base::Bytes> hibernated_left;  // weight bytes that stayed in memory when it hibernated last
  std::optional<double> last_wake_s;           // how long its weights took to come back
  policy::KeepVotes votes;
  bool pinned = false;                        // asked for while the server runs; the configuration may pin besides
  bool cooling = false;                       // its weights are leaving, or its engine is stopping
  bool waking = false;                        // its weights come back, beside whoever uses it
  std::optional<base::Mono> cool_not_before;  // after a failure to cool
  std::shared_ptr<PrefixSession> prefix;      // null where states of prompts are not kept
  bool reuses_nothing = false;                // its engine may reuse nothing of what it holds
  bool measuring_soon = false;                // somebody waits for the model to be idle, to measure it

 private:
  [[nodiscard]] std::size_t& work_for(std::optional<domain::ServiceClass> asker) {
    return asker ? claims_[policy::index_of(*asker)] : own_work_;
  }

  std::unique_ptr<engine::Supervisor> supervisor_;
  unsigned slots_;
  std::size_t in_flight_ = 0;
  std::array<std::size_t, policy::kClasses> claims_{};
  std::size_t own_work_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t reread_in_ = 0;  // the generation of the engine
  std::optional<base::Bytes> reread_per_token_;
  std::uint64_t hibernated_in_ = 0;  // the generation of the engine, 0: not
  bool pages_kept_ = false;
  std::optional<base::Wall> last_used_at_;
  std::deque<double> start_ms_;
  std::deque<double> ttft_ms_;
  std::deque<double> wake_ms_;
  PrefillSpeed speed_;
};

using Residents = std::map<domain::ModelId, std::shared_ptr<Resident>>;

}  // namespace hearth::keeper
