#include "policy/estimate.h"

#include <fmt/format.h>

#include <cmath>

namespace hearth::policy {
namespace {

bool depends_on_options(Charge charge) { return charge == Charge::kv || charge == Charge::compute; }

Footprint scaled(const Footprint& prior, base::Bytes measured_then, base::Bytes prior_then) {
  if (prior_then == 0) return prior;
  const double factor = static_cast<double>(measured_then) / static_cast<double>(prior_then);
  Footprint out;
  std::ranges::transform(prior.at, out.at.begin(), [factor](base::Bytes bytes) {
    return static_cast<base::Bytes>(std::llround(static_cast<double>(bytes) * factor));
  });
  return out;
}

// Of the same kind of place only: a model that moved layers to a device has other weights in host memory.
bool same_placement(const LoadOptions& left, const LoadOptions& right) {
  return left.device_layers == right.device_layers && left.other == right.other;
}

bool same_file(const Claim& left, const Claim& right) { return left[Charge::weights] == right[Charge::weights]; }

}  // namespace

Estimate Estimator::estimate(const domain::ModelId& id, const LoadOptions& options, const Claim& prior) const {
  if (const auto found = known_.find({id, options}); found != known_.end() && same_file(found->second.prior, prior)) {
    const auto times = found->second.times;
    Claim claim = found->second.claim;
    claim[Charge::prefix] = prior[Charge::prefix];
    return {claim, times, fmt::format("measured {} time{}", times, times == 1 ? "" : "s")};
  }
  const Known* other = nearest(id, options, prior);
  if (other == nullptr) return {prior, 0, "from the file, never measured"};
  Claim claim;
  for (const Charge charge : kAllCharges) {
    claim[charge] = depends_on_options(charge)
                        ? scaled(prior[charge], other->claim[charge].total(), other->prior[charge].total())
                        : other->claim[charge];
  }
  claim[Charge::prefix] = prior[Charge::prefix];
  return {claim, 0, "from loads with other options"};
}

void Estimator::learn(const domain::ModelId& id, const LoadOptions& options, const Claim& measured,
                      const Claim& prior) {
  const Key key{id, options};
  const auto found = known_.find(key);
  const std::size_t times = found == known_.end() ? 0 : found->second.times;
  keep(key, {.claim = measured, .prior = prior, .times = times + 1});
}

void Estimator::restore(const Learnt& learnt) {
  keep({learnt.id, learnt.options}, {.claim = learnt.measured, .prior = learnt.prior, .times = learnt.times});
}

void Estimator::keep(const Key& key, Known known) {
  known.order = ++learnt_;
  known_[key] = known;
  if (known_.size() <= kMostEntries) return;
  known_.erase(std::ranges::min_element(known_, {}, [](const auto& entry) { return entry.second.order; }));
}

std::optional<Learnt> Estimator::learnt(const domain::ModelId& id, const LoadOptions& options) const {
  const auto found = known_.find({id, options});
  if (found == known_.end()) return std::nullopt;
  const Known& known = found->second;
  return Learnt{.id = id, .options = options, .measured = known.claim, .prior = known.prior, .times = known.times};
}

void Estimator::forget(const domain::ModelId& id) {
  std::erase_if(known_, [&id](const auto& entry) { return entry.first.first == id; });
}

const Estimator::Known* Estimator::nearest(const domain::ModelId& id, const LoadOptions& options,
                                           const Claim& prior) const {
  const Known* best = nullptr;
  double best_distance = 0;
  for (const auto& [key, known] : known_) {
    if (key.first != id || !same_placement(key.second, options) || !same_file(known.prior, prior)) continue;
    const double distance = std::abs(std::log2(static_cast<double>(key.second.context) + 1) -
                                     std::log2(static_cast<double>(options.context) + 1));
    if (best == nullptr || distance < best_distance) {
      best = &known;
      best_distance = distance;
    }
  }
  return best;
}

double KvShape::bytes_per_token() const {
  return static_cast<double>(layers * kv_heads * (key_size + value_size)) * element_bytes;
}

}  // namespace hearth::policy
