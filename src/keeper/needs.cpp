#include "keeper/needs.h"

#include <fmt/format.h>

#include <cmath>

namespace hearth::keeper {

using policy::Charge;
using policy::Footprint;

namespace {

constexpr base::Bytes kEngine = 64U << 20;
constexpr base::Bytes kMicroBatch = 512;
constexpr base::Bytes kMostPromptCache = 512U << 20;
constexpr std::uint64_t kStep = 256;

// Files are hostile: what is beyond all models stays out of the arithmetic.
std::optional<std::uint64_t> sane(const std::optional<std::uint64_t>& value, std::uint64_t most) {
  return value && *value > 0 && *value <= most ? value : std::nullopt;
}

std::optional<double> kv_per_token(const artifact::GgufSummary& gguf) {
  const auto layers = sane(gguf.block_count, 4096);
  const auto embedding = sane(gguf.embedding_length, 1U << 20);
  const auto heads = sane(gguf.head_count, 4096);
  const auto kv_heads = sane(gguf.head_count_kv ? gguf.head_count_kv : gguf.head_count, 4096);
  if (!layers || !embedding || !heads || !kv_heads) return std::nullopt;
  const std::uint64_t size = *embedding / *heads;
  return policy::KvShape{.layers = *layers, .kv_heads = *kv_heads, .key_size = size, .value_size = size}
      .bytes_per_token();
}

std::optional<std::uint64_t> context_of(const artifact::Manifest& manifest, const ServeShape& shape) {
  const auto trained = sane(manifest.gguf.context_length, 1ULL << 30);
  if (!shape.context) return trained;
  return std::min(*shape.context, trained.value_or(*shape.context));
}

}  // namespace

std::string family_of(const artifact::Manifest& manifest) {
  if (!manifest.gguf.architecture || manifest.gguf.parameters == 0) return {};
  return fmt::format("{} {}", *manifest.gguf.architecture, manifest.gguf.parameters);
}

Needs needs_of(const artifact::Manifest& manifest, const ServeShape& shape) {
  Needs needs;
  const auto context = context_of(manifest, shape);
  needs.options = {.context = context.value_or(0), .slots = shape.slots, .device_layers = 0, .other = shape.flags};
  needs.kv_bytes_per_token = kv_per_token(manifest.gguf);
  needs.family = family_of(manifest);
  const double kv = needs.kv_bytes_per_token.value_or(0) * static_cast<double>(context.value_or(0));
  const base::Bytes vocabulary = sane(manifest.gguf.vocabulary, 1U << 24).value_or(0);
  needs.prior[Charge::weights] = Footprint::host(manifest.bytes);
  needs.prior[Charge::kv] = Footprint::host(static_cast<base::Bytes>(std::ceil(kv)));
  needs.prior[Charge::compute] = Footprint::host(kMicroBatch * vocabulary * sizeof(float));
  needs.prior[Charge::prefix] = Footprint::host(shape.prompt_cache);
  needs.prior[Charge::overhead] = Footprint::host(kEngine);
  return needs;
}

std::optional<std::uint64_t> context_that_fits(const artifact::Manifest& manifest, const ServeShape& shape,
                                               base::Bytes budget, std::uint64_t least) {
  const Needs needs = needs_of(manifest, shape);
  const base::Bytes whole = needs.prior.total().host();
  if (whole <= budget || !needs.kv_bytes_per_token) return needs.options.context;
  const base::Bytes rest = whole - needs.prior[Charge::kv].host();
  if (rest >= budget) return std::nullopt;
  const auto tokens = static_cast<std::uint64_t>(static_cast<double>(budget - rest) / *needs.kv_bytes_per_token);
  const std::uint64_t context = tokens / kStep * kStep;
  return context >= least ? std::optional(context) : std::nullopt;
}

base::Bytes prompt_cache_for(const artifact::Manifest& manifest, const ServeShape& shape, base::Bytes budget,
                             base::Bytes most) {
  ServeShape without = shape;
  without.prompt_cache = 0;
  const auto needed = needs_of(manifest, without).prior.total();
  const base::Bytes left = Footprint::host(budget).less(needed).host();
  return policy::prompt_cache_allowance(std::min({manifest.bytes / 2, kMostPromptCache, most}), left);
}

}  // namespace hearth::keeper
