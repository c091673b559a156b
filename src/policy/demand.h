#pragma once
// When a model is likely to be used next, learnt from when it was used.
//
// Three views of one history, each bounded:
// - idle gaps in one-minute bins up to four hours: pre-warm at the 5th percentile less 10 %, keep until the 99th plus
//   10 % (the hybrid histogram of Shahrad et al., "Serverless in the Wild", ATC 2020), when the gaps have a shape;
// - idle gaps in bins that grow by a quarter octave, from a second to a month: the probability that a gap which has
//   lasted this long ends within the horizon;
// - a profile of the hours of the week: in what share of the weeks seen was it used in that hour. What little is known
//   of one hour leans on the same hour of like days (weekdays, weekend), and that on the same hour of any day.
// A model is used again because a conversation goes on (gaps under 15 minutes) or because of the hour, independently;
// or, where its pauses are all about as long (timers), because the next one is due.
// A value of fixed size; no clock: the caller says when.
#include <array>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "policy/residency_config.h"

namespace hearth::policy {

// An instant, with its place in the week of the people who live here.
struct Moment {
  base::Mono at = {};
  std::int64_t local_minute = 0;  // minutes of local time since a Monday 00:00 long ago

  [[nodiscard]] Moment plus(base::Duration span) const;
};
inline constexpr std::int64_t kMinutesPerWeek = 7 * 24 * 60;

// From one use: not before `prewarm` (empty: at once), not longer than `keep`.
struct KeepWindow {
  bool known = false;  // otherwise the gaps say nothing (too few, no shape, too long)
  base::Duration prewarm = {};
  base::Duration keep = {};
};

class Demand {
 public:
  static constexpr std::size_t kMinuteBins = 240;
  static constexpr std::size_t kGapBins = 88;
  static constexpr std::size_t kHours = 168;

  void request_began(const Moment& now, const DemandConfig& config);
  void request_ended(const Moment& now);

  [[nodiscard]] KeepWindow window(const DemandConfig& config) const;
  // Probability that it is used within `horizon` from now, 0…1.
  [[nodiscard]] double reuse(const Moment& now, base::Duration horizon) const;
  // How often it was used, each use counting half after `half_life`.
  [[nodiscard]] double uses(base::Mono now, base::Duration half_life) const;
  // The next instant after now at which it should be warm though nobody has asked yet; empty: none is known.
  [[nodiscard]] std::optional<base::Mono> next_prewarm(const Moment& now, const DemandConfig& config) const;

  // What became of a pre-warm.
  void prewarm_hit();
  void prewarm_wasted();
  [[nodiscard]] std::uint64_t hits() const { return state_.prewarm_hits; }
  [[nodiscard]] std::uint64_t wasted() const { return state_.prewarm_wasted; }
  // Whether another pre-warm may be risked.
  [[nodiscard]] bool may_prewarm(const DemandConfig& config) const;

  [[nodiscard]] std::optional<base::Mono> last_end() const { return last_end_; }

  // What is worth keeping over a restart. Counts only; instants of the monotonic clock do not survive.
  struct State {
    std::array<float, kMinuteBins> minutes{};
    float minutes_beyond = 0;
    std::array<float, kGapBins> gaps{};
    std::array<float, kHours> hours{};             // decayed number of weeks in which the hour was used
    std::array<std::int32_t, kHours> hour_week{};  // the week in which it was counted last, from 1
    std::int64_t first_minute = -1;                // local minute of the first use; -1: none yet
    std::int64_t last_minute = -1;
    std::uint64_t prewarm_hits = 0;
    std::uint64_t prewarm_wasted = 0;
    std::uint32_t wasted_in_a_row = 0;

    friend bool operator==(const State&, const State&) = default;
  };
  [[nodiscard]] const State& state() const { return state_; }
  static Demand restored(const State& state);

 private:
  void note_gap(base::Duration gap);
  void note_hour(std::int64_t local_minute);
  // That a gap which has lasted for `idle` ends within the horizon, and before it has lasted for `most`.
  [[nodiscard]] double by_gap(base::Duration idle, base::Duration horizon, base::Duration most) const;
  [[nodiscard]] double by_hour(std::int64_t local_minute, base::Duration horizon) const;
  // Most of its pauses are of about the same length (within a factor of 1.7).
  [[nodiscard]] bool is_regular() const;
  [[nodiscard]] double weeks_used(std::size_t hour, std::int64_t local_minute) const;
  [[nodiscard]] double hour_share(std::int64_t local_minute) const;

  State state_;
  std::optional<base::Mono> last_end_;
  std::optional<base::Mono> counted_at_;
  double count_ = 0;
  std::uint32_t running_ = 0;
  double gap_total_ = 0;
};

}  // namespace hearth::policy
