#pragma once
// The name of one way of running one model: states are valid only under the fingerprint under which they were made.
// Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace hearth::prefix {

// A file that a flag names (an adapter, a projector, a template), as it was when the engine was asked for.
struct NamedFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
};

// The chat template is the model's own, which its digest covers, or one that a flag names.
struct FingerprintParts {
  std::string model_digest;  // of the model's content
  std::string engine_version;
  std::string engine_build;              // what the running engine calls itself
  std::vector<std::string> backends;     // in any order
  std::optional<std::uint32_t> context;  // as configured; empty: the engine's choice
  std::optional<std::uint32_t> slots;
  std::vector<std::string> flags;  // of the configuration, in their order
  std::vector<NamedFile> files;
  bool exact = false;  // every token was computed among many (exact_reuse.h)
};

// 32 lower-case hexadecimal digits. Errors: unsupported when the model's digest or the engine's build is not known.
[[nodiscard]] base::Result<std::string> make_fingerprint(FingerprintParts parts);

}  // namespace hearth::prefix
