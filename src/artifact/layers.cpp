#include "artifact/layers.h"

namespace hearth::artifact {

using domain::Warmth;

ArtifactReading reading_of(const StoredModel& model) {
  return {.layer = domain::reading_of(model.present, model.manifest.bytes), .verified = model.verified};
}

ArtifactReading reading_of_import(base::Bytes received, std::optional<base::Bytes> total) {
  // All bytes there is not warm yet: the file becomes the model's only when it is published.
  const Warmth warmth = received == 0 ? Warmth::cold : Warmth::partial;
  return {.layer = {.warmth = warmth, .bytes = received, .total = total, .locked = std::nullopt}, .verified = false};
}

ArtifactReading reading_of_absent() {
  return {.layer = {.warmth = Warmth::cold, .bytes = 0, .total = std::nullopt, .locked = std::nullopt},
          .verified = false};
}

}  // namespace hearth::artifact
