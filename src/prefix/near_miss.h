#pragma once
// Ways of running a model that are almost the same, for tests and bench/prefix_lookup: states of one are useless or
// wrong in the other.
#include <random>

#include "prefix/fingerprint.h"

namespace hearth::prefix {

inline FingerprintParts run_parts() {
  return {.model_digest = std::string(64, '1'),
          .engine_version = "0.7.0",
          .engine_build = "b11669",
          .backends = {"cpu-haswell", "cpu-zen4"},
          .context = 4096,
          .slots = std::nullopt,
          .flags = {"--cache-type-k", "q8_0", "--lora", "/a.gguf"},
          .files = {{"/a.gguf", 1000, 5}}};
}

// One thing changed; the kinds are those that make a state of another run useless or wrong.
inline FingerprintParts changed_run(std::mt19937& random) {
  FingerprintParts other = run_parts();
  switch (random() % 13) {
    case 0:
      other.model_digest[random() % 64] = 'e';
      break;  // another quantisation is another file
    case 1:
      other.engine_version += "1";
      break;
    case 2:
      other.engine_build = "b11670";
      break;
    case 3:
      other.backends = {"cpu-haswell"};
      break;
    case 4:
      other.flags.insert(other.flags.end(), {"--chat-template", "chatml"});
      break;
    case 5:
      other.context = 4096 + static_cast<std::uint32_t>(random() % 1000) + 1;
      break;
    case 6:
      other.context.reset();
      break;
    case 7:
      other.slots = 1 + static_cast<std::uint32_t>(random() % 16);
      break;
    case 8:
      other.flags[1] = "f16";
      break;
    case 9:
      other.flags = {"--cache-type-k", "q8_0"};
      other.files.clear();
      break;  // without the adapter
    case 10:
      other.files[0].modified_ns += 1;
      break;  // another adapter under the same name
    case 11:
      other.exact = true;
      break;
    default:
      other.flags.insert(other.flags.end(), {"--rope-freq-scale", "0.5"});
      break;
  }
  return other;
}

}  // namespace hearth::prefix
