#pragma once
// What the `artifact` layer reads of a model: bytes on disk, of how many, and whether their digest is known. Pure.
#include <optional>

#include "artifact/stored_model.h"
#include "base/bytes.h"
#include "domain/layer.h"

namespace hearth::artifact {

struct ArtifactReading {
  domain::LayerReading layer;
  bool verified = false;
};

[[nodiscard]] ArtifactReading reading_of(const StoredModel& model);
// An import in progress: partial (cold before its first byte); `total` empty when nobody announced it.
[[nodiscard]] ArtifactReading reading_of_import(base::Bytes received, std::optional<base::Bytes> total);
// A model that the store does not have.
[[nodiscard]] ArtifactReading reading_of_absent();

}  // namespace hearth::artifact
