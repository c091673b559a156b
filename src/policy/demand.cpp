#include "policy/demand.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hearth::policy {
namespace {

constexpr std::int64_t kWeek = kMinutesPerWeek;
constexpr float kFull = 4096;         // a histogram that has seen this much is halved
constexpr double kWeeksOfMemory = 6;  // the profile's counts decay as if it looked back this far
constexpr double kLeaning = 2;        // weeks of its own that an hour needs to weigh as much as what it leans on
constexpr base::Duration kPause = std::chrono::minutes(10);  // gaps from here on tell whether somebody is regular:
constexpr double kLeastPauses = 4;                           // where there are enough of them,
constexpr double kRegular = 0.6;                             // and this share lasts about as long
constexpr base::Duration kConversation = std::chrono::minutes(15);  // a longer pause is the end of one

double seconds(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }
base::Duration of_seconds(double value) {
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(value));
}

// Quarter octaves: bin b begins at 2^(b/4) seconds; bin 0 is everything below.
std::size_t gap_bin(base::Duration gap) {
  const double s = seconds(gap);
  if (s <= 1) return 0;
  return std::min(static_cast<std::size_t>(std::log2(s) * 4), Demand::kGapBins - 1);
}
double bin_start(std::size_t bin) {
  static const auto starts = [] {
    std::array<double, Demand::kGapBins + 1> all{};
    for (std::size_t i = 1; i < all.size(); ++i)
      all[i] = std::exp2(static_cast<double>(i) / 4);
    return all;
  }();
  return starts[bin];
}

template <std::size_t N>
double sum_of(const std::array<float, N>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

template <std::size_t N>
void halve(std::array<float, N>& counts) {
  for (float& count : counts)
    count /= 2;
}

// Standard deviation of the bins' counts over their mean.
double variation_of(const std::array<float, Demand::kMinuteBins>& counts) {
  const double mean = sum_of(counts) / static_cast<double>(counts.size());
  if (mean <= 0) return 0;
  double squares = 0;
  for (const float count : counts)
    squares += (count - mean) * (count - mean);
  return std::sqrt(squares / static_cast<double>(counts.size() - 1)) / mean;
}

std::size_t percentile_bin(const std::array<float, Demand::kMinuteBins>& counts, double share) {
  const double wanted = sum_of(counts) * share;
  double seen = 0;
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    seen += counts[bin];
    if (seen >= wanted) return bin;
  }
  return counts.size() - 1;
}

std::size_t hour_of(std::int64_t local_minute) {
  return static_cast<std::size_t>(((local_minute % kWeek) + kWeek) % kWeek / 60);
}
std::int32_t week_of(std::int64_t local_minute) { return static_cast<std::int32_t>(local_minute / kWeek + 1); }

}  // namespace

Moment Moment::plus(base::Duration span) const {
  return {at + span, local_minute + std::chrono::duration_cast<std::chrono::minutes>(span).count()};
}

void Demand::request_began(const Moment& now, const DemandConfig& config) {
  if (running_++ == 0 && last_end_ && now.at > *last_end_) note_gap(now.at - *last_end_);
  // A use earns back one of the pre-warms that were wasted, or a model would never be tried again.
  if (state_.wasted_in_a_row > 0) --state_.wasted_in_a_row;
  count_ = uses(now.at, config.half_life) + 1;
  counted_at_ = now.at;
  if (state_.first_minute < 0) state_.first_minute = now.local_minute;
  state_.last_minute = std::max(state_.last_minute, now.local_minute);
  note_hour(now.local_minute);
}

void Demand::request_ended(const Moment& now) {
  if (running_ > 0) --running_;
  last_end_ = std::max(last_end_.value_or(now.at), now.at);
}

void Demand::note_gap(base::Duration gap) {
  const auto minute = static_cast<std::size_t>(std::max(0.0, seconds(gap) / 60));
  if (minute < kMinuteBins) {
    state_.minutes[minute] += 1;
  } else {
    state_.minutes_beyond += 1;
  }
  state_.gaps[gap_bin(gap)] += 1;
  gap_total_ += 1;
  if (gap_total_ < kFull) return;
  halve(state_.minutes);
  halve(state_.gaps);
  state_.minutes_beyond /= 2;
  gap_total_ = sum_of(state_.gaps);
}

void Demand::note_hour(std::int64_t local_minute) {
  const std::size_t hour = hour_of(local_minute);
  const std::int32_t week = week_of(local_minute);
  auto& counted = state_.hour_week[hour];
  if (counted == week) return;
  const double passed = counted == 0 ? 0 : static_cast<double>(week - counted);
  state_.hours[hour] = static_cast<float>(state_.hours[hour] * std::exp(-passed / kWeeksOfMemory) + 1);
  counted = week;
}

KeepWindow Demand::window(const DemandConfig& config) const {
  const double within = sum_of(state_.minutes);
  const double all = within + state_.minutes_beyond;
  if (all < static_cast<double>(config.least_gaps) || state_.minutes_beyond / all >= config.most_out_of_range ||
      variation_of(state_.minutes) < config.least_variation)
    return {};
  const auto head = static_cast<double>(percentile_bin(state_.minutes, config.head));
  const auto tail = static_cast<double>(percentile_bin(state_.minutes, config.tail) + 1);
  return {true, of_seconds(head * 60 * (1 - config.margin)), of_seconds(tail * 60 * (1 + config.margin))};
}

double Demand::by_gap(base::Duration idle, base::Duration horizon, base::Duration most) const {
  const double from = seconds(idle);
  if (gap_total_ <= 0 || idle >= most) return 0;
  const double to = std::min(from + seconds(horizon), seconds(most));
  double ends = 0;
  double longer = 0;
  for (std::size_t bin = gap_bin(idle); bin < kGapBins; ++bin) {
    if (state_.gaps[bin] <= 0) continue;
    const double low = bin_start(bin);
    const double high = bin_start(bin + 1);
    const double after = std::clamp((high - std::max(low, from)) / (high - low), 0.0, 1.0);
    const double inside = std::clamp((std::min(high, to) - std::max(low, from)) / (high - low), 0.0, 1.0);
    longer += state_.gaps[bin] * after;
    ends += state_.gaps[bin] * inside;
  }
  // The gap under way is one that may never end: it counts as half a gap that does not.
  return ends / (longer + 0.5);
}

double Demand::weeks_used(std::size_t hour, std::int64_t local_minute) const {
  if (state_.hour_week[hour] == 0) return 0;
  const double passed = static_cast<double>(week_of(local_minute) - state_.hour_week[hour]);
  return state_.hours[hour] * std::exp(-passed / kWeeksOfMemory);
}

double Demand::hour_share(std::int64_t local_minute) const {
  if (state_.first_minute < 0) return 0;
  const double weeks = static_cast<double>(local_minute - state_.first_minute) / static_cast<double>(kWeek);
  // As many weeks as count, each decayed like the hours are; of the first one what has passed.
  const double r = std::exp(-1 / kWeeksOfMemory);
  const double seen = (1 - std::pow(r, std::floor(weeks) + 1)) / (1 - r) - 1 + std::min(1.0, weeks);
  const std::size_t hour = hour_of(local_minute);
  const bool weekend = hour / 24 >= 5;
  double any_day = 0;
  double like_days = 0;
  for (std::size_t day = 0; day < 7; ++day) {
    const double used = weeks_used(day * 24 + hour % 24, local_minute);
    any_day += used;
    if ((day >= 5) == weekend) like_days += used;
  }
  const double of_any = any_day / (seen * 7 + kLeaning);
  const double of_like = (like_days + kLeaning * of_any) / (seen * (weekend ? 2 : 5) + kLeaning);
  const double used = weeks_used(hour, local_minute);
  return std::min(0.98, (used + kLeaning * of_like) / (seen + kLeaning));
}

double Demand::by_hour(std::int64_t local_minute, base::Duration horizon) const {
  const double minutes = seconds(horizon) / 60;
  double none = 1;
  double at = 0;
  while (at < minutes) {
    const std::int64_t minute = local_minute + static_cast<std::int64_t>(at);
    const double left = std::min(60.0 - static_cast<double>(((minute % 60) + 60) % 60), minutes - at);
    // Used in that hour, at any time of it alike.
    none *= std::pow(1 - hour_share(minute), left / 60);
    at += left;
  }
  return 1 - none;
}

double Demand::reuse(const Moment& now, base::Duration horizon) const {
  if (running_ > 0) return 1;
  const double hour = by_hour(now.local_minute, horizon);
  if (!last_end_) return hour;
  const base::Duration idle = std::max(base::Duration::zero(), now.at - *last_end_);
  const double talk = 1 - (1 - by_gap(idle, horizon, kConversation)) * (1 - hour);
  return is_regular() ? std::max(talk, by_gap(idle, horizon, base::Duration::max())) : talk;
}

bool Demand::is_regular() const {
  constexpr std::size_t kWide = 3;
  const auto first = gap_bin(kPause);
  const double pauses = std::accumulate(state_.gaps.begin() + first, state_.gaps.end(), 0.0);
  if (pauses < kLeastPauses) return false;
  double most = 0;
  for (std::size_t bin = first; bin + kWide <= kGapBins; ++bin)
    most = std::max(most, std::accumulate(state_.gaps.begin() + bin, state_.gaps.begin() + bin + kWide, 0.0));
  return most >= kRegular * pauses;
}

double Demand::uses(base::Mono now, base::Duration half_life) const {
  if (!counted_at_) return 0;
  return count_ * std::exp2(-std::max(0.0, seconds(now - *counted_at_)) / seconds(half_life));
}

std::optional<base::Mono> Demand::next_prewarm(const Moment& now, const DemandConfig& config) const {
  std::optional<base::Mono> next;
  const KeepWindow keep = window(config);
  if (keep.known && last_end_ && *last_end_ + keep.prewarm > now.at) next = *last_end_ + keep.prewarm;
  const std::int64_t to_hour = 60 - ((now.local_minute % 60) + 60) % 60;
  for (std::int64_t ahead = 0; ahead < 24; ++ahead) {
    const std::int64_t minutes = to_hour + ahead * 60;
    if (hour_share(now.local_minute + minutes) < config.least_share) continue;
    const base::Mono at = now.at + std::chrono::minutes(minutes);
    if (!next || at < *next) next = at;
    break;
  }
  return next;
}

void Demand::prewarm_hit() {
  ++state_.prewarm_hits;
  state_.wasted_in_a_row = 0;
}

void Demand::prewarm_wasted() {
  ++state_.prewarm_wasted;
  ++state_.wasted_in_a_row;
}

bool Demand::may_prewarm(const DemandConfig& config) const {
  if (state_.wasted_in_a_row >= config.most_wasted_in_a_row) return false;
  const auto all = static_cast<double>(state_.prewarm_hits + state_.prewarm_wasted);
  return all < 4 || static_cast<double>(state_.prewarm_wasted) <= config.most_waste * (all + 1);
}

Demand Demand::restored(const State& state) {
  Demand demand;
  demand.state_ = state;
  demand.gap_total_ = sum_of(state.gaps);
  return demand;
}

}  // namespace hearth::policy
