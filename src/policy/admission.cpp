#include "policy/admission.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

namespace hearth::policy {
namespace {

using domain::ServiceClass;

constexpr double kUnknownRequestSeconds = 5;

bool contains(std::span<const domain::ModelId> models, const domain::ModelId& id) {
  return std::ranges::find(models, id) != models.end();
}

// Background requests for one model sort as its oldest one does, those that need no load first.
using Turn = std::tuple<ServiceClass, int, std::uint64_t, std::uint64_t>;

std::map<domain::ModelId, std::uint64_t> oldest_tickets(std::span<const Waiting> queue, const AdmissionConfig& config,
                                                        base::Mono now) {
  std::map<domain::ModelId, std::uint64_t> oldest;
  for (const Waiting& one : queue) {
    if (effective_class(one, config, now) != ServiceClass::background) continue;
    const auto [place, added] = oldest.emplace(one.model, one.ticket);
    if (!added) place->second = std::min(place->second, one.ticket);
  }
  return oldest;
}

std::string position_text(std::size_t position, const std::optional<base::Duration>& wait) {
  if (!wait) return fmt::format("number {} in the queue", position);
  return fmt::format("number {} in the queue, about {:.1f} s", position, base::to_ms(*wait) / 1000);
}

// What is ahead of `ticket` takes together: one load per model that is not warm, and every request.
base::Duration time_ahead(std::span<const std::uint64_t> order, std::uint64_t ticket, std::span<const Waiting> queue,
                          std::span<const domain::ModelId> warm, std::span<const ServiceTimes> times) {
  double total = 0;
  std::vector<domain::ModelId> loaded(warm.begin(), warm.end());
  for (const std::uint64_t one : order) {
    const auto waiting = std::ranges::find(queue, one, &Waiting::ticket);
    const auto known = std::ranges::find(times, waiting->model, &ServiceTimes::model);
    const bool cold = !contains(loaded, waiting->model);
    if (cold) loaded.push_back(waiting->model);
    if (cold && known != times.end()) total += known->load_s.value_or(0);
    if (one == ticket) break;
    total += known == times.end() ? kUnknownRequestSeconds : known->request_s.value_or(kUnknownRequestSeconds);
  }
  return base::from_ms(total * 1000);
}

}  // namespace

ServiceClass class_after(base::Duration giving_way, ServiceClass service_class, base::Duration starvation_bound) {
  const bool starved = service_class == ServiceClass::background && giving_way >= starvation_bound;
  return starved ? ServiceClass::interactive : service_class;
}

ServiceClass effective_class(const Waiting& waiting, const AdmissionConfig& config, base::Mono now) {
  return class_after(now - waiting.since, waiting.service_class, config.starvation_bound);
}

std::vector<std::uint64_t> order_of(std::span<const Waiting> queue, std::span<const domain::ModelId> warm,
                                    const AdmissionConfig& config, base::Mono now) {
  const auto oldest = oldest_tickets(queue, config, now);
  std::vector<Turn> turns;
  for (const Waiting& one : queue) {
    const ServiceClass counts = effective_class(one, config, now);
    const bool grouped = counts == ServiceClass::background;
    const int needs_load = grouped && !contains(warm, one.model) ? 1 : 0;
    turns.emplace_back(counts, needs_load, grouped ? oldest.at(one.model) : one.ticket, one.ticket);
  }
  std::ranges::sort(turns);
  std::vector<std::uint64_t> order;
  std::ranges::transform(turns, std::back_inserter(order), [](const Turn& turn) { return std::get<3>(turn); });
  return order;
}

QueueVerdict judge_waiting(const Waiting& newcomer, std::span<const Waiting> queue,
                           std::span<const domain::ModelId> warm, std::span<const ServiceTimes> times,
                           const AdmissionConfig& config, base::Mono now) {
  const auto same =
      static_cast<std::size_t>(std::ranges::count(queue, newcomer.service_class, &Waiting::service_class));
  const std::size_t most = config.most_waiting[index_of(newcomer.service_class)];
  std::vector<Waiting> all(queue.begin(), queue.end());
  all.push_back(newcomer);
  const auto order = order_of(all, warm, config, now);
  const base::Duration ahead = time_ahead(order, newcomer.ticket, all, warm, times);
  QueueVerdict verdict;
  if (same >= most) {
    verdict.retry_after = std::max<base::Duration>(ahead, std::chrono::seconds(1));
    verdict.reason =
        fmt::format("{} {} requests wait already, no more are taken", same, name_of(newcomer.service_class));
    return verdict;
  }
  verdict.accepted = true;
  verdict.position = static_cast<std::size_t>(std::ranges::find(order, newcomer.ticket) - order.begin()) + 1;
  verdict.expected_wait = ahead;
  verdict.reason = position_text(verdict.position, verdict.expected_wait);
  return verdict;
}

bool may_load(ServiceClass service_class, std::span<const Waiting> queue, const AdmissionConfig& config,
              base::Mono now) {
  return std::ranges::none_of(queue,
                              [&](const Waiting& one) { return effective_class(one, config, now) < service_class; });
}

ColdStartPromise promise_of(ServiceClass service_class, const Ladder& ladder, double warm_ttft_s,
                            const AdmissionConfig& config) {
  ColdStartPromise promise{.cold_ttft_s = warm_ttft_s + ladder.ready_s_at(Rung::cold)};
  const auto& limit = config.max_cold_ttft[index_of(service_class)];
  if (!limit) {
    promise.reason = fmt::format("a cold start of {:.1f} s is accepted", promise.cold_ttft_s);
    return promise;
  }
  const double limit_s = base::to_ms(*limit) / 1000;
  if (promise.cold_ttft_s <= limit_s) {
    promise.reason = fmt::format("a cold start takes {:.1f} s, within its {:.1f} s", promise.cold_ttft_s, limit_s);
    return promise;
  }
  promise.keep_warm = true;
  promise.floor = Rung::serving;
  for (const RungCost& rung : ladder.rungs()) {
    if (warm_ttft_s + rung.ready_s <= limit_s) promise.floor = rung.rung;
  }
  promise.kept = warm_ttft_s + ladder.ready_s_at(promise.floor) <= limit_s;
  promise.reason =
      promise.kept
          ? fmt::format("kept {} so that its first token comes within {:.1f} s", name_of(promise.floor), limit_s)
          : fmt::format("its first token takes {:.1f} s even when it is warm, more than its {:.1f} s", warm_ttft_s,
                        limit_s);
  return promise;
}

}  // namespace hearth::policy
