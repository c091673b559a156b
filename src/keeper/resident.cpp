#include "keeper/resident.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace hearth::keeper {

using domain::ModelState;

namespace {

void remember(std::deque<double>& all_ms, double ms) {
  all_ms.push_back(ms);
  if (all_ms.size() > Resident::kTimesRemembered) all_ms.pop_front();
}

void recall_times(std::deque<double>& all_ms, const std::deque<base::Duration>& past) {
  for (auto one = past.rbegin(); one != past.rend() && all_ms.size() < Resident::kTimesRemembered; ++one)
    all_ms.push_front(base::to_ms(*one));
}

std::optional<double> median_s(const std::deque<double>& all_ms) {
  if (all_ms.empty()) return std::nullopt;
  std::vector<double> sorted(all_ms.begin(), all_ms.end());
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2] / 1000;
}

}  // namespace

void Resident::request_began(base::Wall at) {
  ++in_flight_;
  ++requests_;
  last_used_at_ = at;
}

void Resident::request_ended() { --in_flight_; }

std::optional<domain::ServiceClass> Resident::works_for() const {
  using enum domain::ServiceClass;
  for (const auto service_class : {voice, interactive, background}) {
    if (claims_[policy::index_of(service_class)] > 0) return service_class;
  }
  return own_work_ > 0 ? std::optional(background) : std::nullopt;
}

void Resident::started_in(base::Duration duration) { remember(start_ms_, base::to_ms(duration)); }
void Resident::first_token_in(base::Duration duration) { remember(ttft_ms_, base::to_ms(duration)); }

void Resident::recall(const PastTimes& past) {
  recall_times(start_ms_, past.starts);
  recall_times(ttft_ms_, past.first_tokens);
}

// One reading of everything is a cold start; what is read beyond that was in memory before and had to go.
void Resident::note_reading(base::Bytes read, base::Bytes weights, std::int64_t tokens) {
  reread_in_ = supervisor_->generation();
  reread_per_token_.reset();
  if (weights > 0 && tokens > 0 && read > weights)
    reread_per_token_ = (read - weights) / static_cast<base::Bytes>(tokens);
}

void Resident::answered_woken(const domain::EngineTimings& timings) {
  const auto speed = speed_.ms_per_token();
  if (!speed) return;
  remember(wake_ms_, std::max(0.0, timings.prompt_ms - *speed * static_cast<double>(timings.prompt_tokens)));
}

std::optional<double> Resident::typical_wake_s() const {
  const auto known = median_s(wake_ms_);
  return known ? known : last_wake_s;
}

std::optional<double> Resident::typical_start_s() const { return median_s(start_ms_); }
std::optional<double> Resident::typical_ttft_s() const { return median_s(ttft_ms_); }

ModelState Resident::state() const {
  const ModelState state = supervisor_->state();
  if (state != ModelState::ready) return state;
  if (in_flight_ > 0) return ModelState::busy;
  return hibernated() ? ModelState::hibernated : ModelState::ready;
}

void Resident::describe(domain::ModelView& view) const {
  view.state = state();
  view.failure = supervisor_->failure();
  view.pid = supervisor_->pid();
  view.process_started_at = supervisor_->process_started_at();
  if (view.pid) view.request_context = context;
  view.requests = requests_;
  view.last_used_at = last_used_at_;
  view.reread_per_token = reread_in_ == supervisor_->generation() && view.pid ? reread_per_token_ : std::nullopt;
  if (view.state == ModelState::hibernated) {
    view.ready_basis = pages_kept() ? "hibernated: a request is taken at once, its weights are still in the page cache"
                                    : "hibernated: a request is taken at once and its weights come in beside it";
  } else if (view.state == ModelState::ready || view.state == ModelState::busy) {
    view.ready_in_ms = 0;
    view.ready_basis = "the engine is ready";
  } else if (!start_ms_.empty()) {
    view.ready_in_ms = *typical_start_s() * 1000;
    view.ready_basis = fmt::format("median of the last {} starts", start_ms_.size());
  }
}

}  // namespace hearth::keeper
