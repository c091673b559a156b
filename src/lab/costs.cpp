#include "lab/costs.h"

namespace hearth::lab {
namespace {

constexpr double kMeasuredGb = 0.703;

base::Bytes bytes_of(double gb) { return static_cast<base::Bytes>(gb * 1e9); }

policy::Footprint serving_bytes(const ModelSize& size, const CostModel& costs) {
  return policy::Footprint::host(
      bytes_of(size.weights_gb * (1 + costs.mapped_share) + size.context_gb + size.overhead_gb));
}

}  // namespace

policy::Ladder layered(const ModelSize& size, const CostModel& costs) {
  if (size.measured) return size.measured->ladder;
  const auto asleep = policy::Footprint::host(bytes_of(size.context_gb + size.overhead_gb));
  return {{policy::Rung::serving, serving_bytes(size, costs), 0},
          {policy::Rung::hibernated, asleep, costs.wake_s_per_gb * size.weights_gb},
          {policy::Rung::cold, {}, costs.restart_s + costs.packed_s_per_gb * size.weights_gb}};
}

policy::Ladder stock(const ModelSize& size, const CostModel& costs) {
  if (size.measured) {
    const policy::Ladder& all = size.measured->ladder;
    return {{policy::Rung::serving, all.bytes_at(policy::Rung::serving), 0},
            {policy::Rung::cold, {}, all.ready_s_at(policy::Rung::cold)}};
  }
  return {{policy::Rung::serving, serving_bytes(size, costs), 0},
          {policy::Rung::cold, {}, costs.restart_s + costs.stock_s_per_gb * size.weights_gb}};
}

double leave_s(const ModelSize& size, policy::Rung to) {
  if (!size.measured) return 0;
  return to == policy::Rung::hibernated ? size.measured->sleep_s : size.measured->stop_s;
}

double first_token_s(const ModelSize& size, const CostModel& costs, double prompt_tokens) {
  if (size.measured) return size.measured->first_token_s + prompt_tokens / size.measured->prefill_per_s;
  return costs.first_token_s + prompt_tokens / costs.prefill_per_s * (size.weights_gb / kMeasuredGb);
}

double busy_s(const ModelSize& size, const CostModel& costs, double prompt_tokens, double generated_tokens) {
  const double first = first_token_s(size, costs, prompt_tokens);
  if (size.measured) return first + generated_tokens / size.measured->decode_per_s;
  return first + generated_tokens / costs.decode_per_s * (size.weights_gb / kMeasuredGb);
}

}  // namespace hearth::lab
