#pragma once
// What a load of one model is expected to take before it was ever measured: from what its file says and how it is to
// be served. Pure.
//
// Weights are the bytes of the file. The KV cache is policy::KvShape x context, in 16-bit elements, where the file
// gives the shape. Compute buffers are dominated by one micro-batch of logits: 512 tokens x vocabulary x 4 bytes. The
// engine itself takes some 64 MiB. A file that does not say a number contributes nothing to it: what is measured
// corrects the rest.
#include <optional>

#include "artifact/manifest.h"
#include "policy/estimate.h"

namespace hearth::keeper {

// How it is to be served.
struct ServeShape {
  std::optional<std::uint64_t> context;  // tokens in all slots together; empty: what the file says
  unsigned slots = 1;
  base::Bytes prompt_cache = 0;  // the engine's own, in host memory
  std::string flags = {};        // of the configuration: some change what it takes
};

struct Needs {
  policy::LoadOptions options = {};
  policy::Claim prior = {};
  std::optional<double> kv_bytes_per_token = std::nullopt;
  std::string family = {};  // what its other quantisations share; empty: not known
};

[[nodiscard]] Needs needs_of(const artifact::Manifest& manifest, const ServeShape& shape);

// The largest context, in steps of 256 tokens, with which it fits into `budget`; the wished one where that fits, or
// where the file does not say what a token takes. Empty: not even `least` fits.
[[nodiscard]] std::optional<std::uint64_t> context_that_fits(const artifact::Manifest& manifest,
                                                             const ServeShape& shape, base::Bytes budget,
                                                             std::uint64_t least = 2048);

// What the engine's own prompt cache may take: half of the weights, at most 512 MiB and `most` (of the configuration),
// at most a quarter of what the budget leaves beside the model, nothing below 64 MiB.
[[nodiscard]] base::Bytes prompt_cache_for(const artifact::Manifest& manifest, const ServeShape& shape,
                                           base::Bytes budget, base::Bytes most);

// "llama 1235814400": architecture and number of parameters; empty where the file does not say both.
[[nodiscard]] std::string family_of(const artifact::Manifest& manifest);

}  // namespace hearth::keeper
