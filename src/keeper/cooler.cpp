#include "keeper/cooler.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace hearth::keeper {

using domain::ModelState;

namespace {

constexpr std::chrono::seconds kAfterFailure{5};
constexpr std::chrono::milliseconds kLeastPause{1};
constexpr std::chrono::hours kLongestPause{1};  // a wish may last for centuries, which no timer holds

constexpr std::string_view kTimeIsUp = "the time that its clients wished to keep it is up";

}  // namespace

bool Cooler::may_cool(const domain::ModelId& id, const Resident& resident) const {
  if (resident.awaited() || resident.cooling || parts_.pinned(id)) return false;
  return resident.state() == ModelState::ready || resident.state() == ModelState::hibernated;
}

// When the model is to be cooled, as far as it may be. A model that nobody has voted on stays as it is: that is one
// whose weights have been told to leave already.
std::optional<base::Mono> Cooler::due_at(const domain::ModelId& id, const Resident& resident) const {
  if (!may_cool(id, resident)) return std::nullopt;
  const auto now = parts_.clock.now();
  const auto verdict = resident.votes.verdict(now);
  if (!verdict.unload_now && resident.votes.votes().empty()) return std::nullopt;
  if (!verdict.unload_now && parts_.must_serve(id, resident)) return std::nullopt;
  const auto at = verdict.unload_now ? now : verdict.until.value_or(now);
  return std::max(at, resident.cool_not_before.value_or(at));
}

std::optional<base::Mono> Cooler::next_look() const {
  std::optional<base::Mono> next;
  for (const auto& [id, resident] : parts_.residents) {
    const auto at = due_at(id, *resident);
    if (at && (!next || *at < *next)) next = at;
  }
  return next;
}

rt::Task<void> Cooler::run() {
  for (;;) {
    co_await cool_what_is_due();
    base::Duration pause = kLongestPause;
    if (const auto next = next_look())
      pause = std::clamp<base::Duration>(*next - parts_.clock.now(), kLeastPause, pause);
    (void)co_await changed_.wait_until(std::chrono::steady_clock::now() + pause);
  }
}

rt::Task<void> Cooler::cool_what_is_due() {
  const Residents residents = parts_.residents;  // the map may change while one is cooled
  for (const auto& [id, resident] : residents) {
    const auto at = due_at(id, *resident);
    if (at && *at <= parts_.clock.now()) co_await cool(id, resident, resident->votes.verdict(parts_.clock.now()));
  }
}

rt::Task<void> Cooler::cool(domain::ModelId id, std::shared_ptr<Resident> resident, policy::KeepVerdict verdict) {
  const policy::KeepVotes votes =
      std::exchange(resident->votes, {});  // a request that comes meanwhile votes anew, and is served after
  resident->cooling = true;
  base::Status cooled;
  if (verdict.unload_now) {
    cooled = co_await stop(id, resident, "told to unload");
  } else {
    cooled = co_await hibernate_or_stop(id, resident);
  }
  resident->cooling = false;
  resident->cool_not_before.reset();
  if (cooled) co_return;
  // An engine that computes for itself (a prefix) is done in a moment.
  if (cooled.error().code != base::ErrorCode::in_use) spdlog::warn("cooling {}: {}", id.text(), cooled.error().message);
  if (resident->votes.votes().empty()) resident->votes = votes;
  resident->cool_not_before = parts_.clock.now() + kAfterFailure;
}

rt::Task<base::Status> Cooler::hibernate_or_stop(domain::ModelId id, std::shared_ptr<Resident> resident) {
  if (resident->hibernated()) co_return base::Status{};
  auto slept = co_await parts_.changer.hibernate(resident);
  if (slept) tell(id, domain::Layer::weights, std::string(kTimeIsUp));
  if (slept) co_return base::Status{};
  const bool cannot = slept.error().code == base::ErrorCode::unsupported;
  if (resident->awaited() && (cannot || slept.error().code == base::ErrorCode::in_use)) co_return base::Status{};
  if (!cannot) co_return base::pass(slept);
  std::string why = fmt::format("{}, and its engine cannot hibernate", kTimeIsUp);
  co_return co_await stop(std::move(id), std::move(resident), std::move(why));
}

rt::Task<base::Status> Cooler::stop(domain::ModelId id, std::shared_ptr<Resident> resident, std::string why) {
  tell(id, domain::Layer::process, std::move(why));
  co_return co_await resident->supervisor().stop();
}

void Cooler::tell(const domain::ModelId& id, domain::Layer layer, std::string why) const {
  if (!parts_.on_event) return;
  domain::Event event;
  event.at = parts_.clock.wall();
  event.what = "keep_alive_over";
  event.model = id.text();
  event.layer = layer;
  event.by = "keep_alive";
  event.why = std::move(why);
  parts_.on_event(std::move(event));
}

}  // namespace hearth::keeper
