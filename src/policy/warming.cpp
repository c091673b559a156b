#include "policy/warming.h"

#include <fmt/format.h>

namespace hearth::policy {
namespace {

struct Wish {
  const Held* model = nullptr;
  bool scheduled = false;
  double worth = 0;
  Footprint needed;

  [[nodiscard]] double density() const { return worth / static_cast<double>(std::max<base::Bytes>(needed.total(), 1)); }
};

std::optional<Wish> wish_of(const Held& model, const Expected& expected, const EvictionConfig& config,
                            const WarmingConfig& warming) {
  if (!expected.candidate || model.rung == Rung::serving || model.in_use || model.changing) return std::nullopt;
  const auto* top = model.ladder.find(Rung::serving);
  if (top == nullptr) return std::nullopt;
  const bool within_bounds = expected.may_prewarm || model.rung <= Rung::hibernated;
  const bool likely = within_bounds && model.reuse >= warming.least_reuse;
  if (!likely && !expected.scheduled) return std::nullopt;
  const double probability = expected.scheduled ? 1 : model.reuse;
  const double gain = model.ladder.ready_s_at(model.rung) - top->ready_s;
  const double worth = config.class_weight[index_of(model.service_class)] * probability * gain;
  if (worth < warming.least_worth_s) return std::nullopt;
  return Wish{&model, expected.scheduled, worth, top->bytes.less(model.ladder.bytes_at(model.rung))};
}

std::string reason_of(const Wish& wish, const EvictionConfig& config) {
  const Held& model = *wish.model;
  const double gain = model.ladder.ready_s_at(model.rung) - model.ladder.ready_s_at(Rung::serving);
  if (wish.scheduled) return fmt::format("{} is scheduled to be resident; saves {:.2f} s", model.id.text(), gain);
  return fmt::format("{} is {:.0f} % likely to be asked for within {:.0f} min; saves {:.2f} s", model.id.text(),
                     model.reuse * 100, base::to_ms(config.horizon) / 60'000, gain);
}

}  // namespace

std::optional<Promotion> plan_warming(std::span<const Held> models, std::span<const Expected> expected,
                                      const Footprint& free, std::size_t recent_swaps, const EvictionConfig& config,
                                      const WarmingConfig& warming, base::Mono now) {
  std::vector<Wish> wishes;
  for (std::size_t index = 0; index < models.size() && index < expected.size(); ++index) {
    if (auto wish = wish_of(models[index], expected[index], config, warming)) wishes.push_back(*wish);
  }
  std::ranges::sort(wishes, std::ranges::greater(), &Wish::density);
  for (const Wish& wish : wishes) {
    Promotion promotion{wish.model->id, wish.model->rung, Rung::serving, wish.worth, {}, reason_of(wish, config)};
    if (wish.needed.fits_in(free)) return promotion;
    const Newcomer newcomer{wish.model->id, wish.model->service_class, false, wish.worth};
    const EvictionAsk ask{newcomer, wish.needed.less(free), 0, recent_swaps};
    auto plan = plan_eviction(EvictionPolicy::hearth, models, ask, config, now);
    if (!plan.enough) continue;
    promotion.demotions = std::move(plan.demotions);
    return promotion;
  }
  return std::nullopt;
}

}  // namespace hearth::policy
