#pragma once
// What one model name stands for in the store, and its form on disk (docs/store-format.md). Pure: bytes in, bytes out.
#include <cstdint>
#include <string>
#include <string_view>

#include "artifact/digest.h"
#include "artifact/gguf.h"
#include "base/bytes.h"
#include "base/result.h"
#include "domain/model_id.h"

namespace hearth::artifact {

inline constexpr unsigned kManifestVersion = 1;
inline constexpr std::size_t kLongestManifest = 1u << 20;

struct Manifest {
  domain::ModelId id;
  Digest digest;              // of the model file; also its name in blobs/
  base::Bytes bytes = 0;      // its size
  std::int64_t mtime_ns = 0;  // its modification time when the digest was last taken
  std::int64_t imported_at_ms = 0;
  std::int64_t verified_at_ms = 0;
  GgufSummary gguf;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

[[nodiscard]] std::string encode(const Manifest& manifest);

// Errors: unsupported when it is of a newer version (says which); corrupt when it is anything else than what encode()
// made.
[[nodiscard]] base::Result<Manifest> decode_manifest(std::string_view text);

}  // namespace hearth::artifact
