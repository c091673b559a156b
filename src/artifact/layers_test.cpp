#include "artifact/layers.h"

#include <gtest/gtest.h>

namespace hearth::artifact {
namespace {

using domain::Warmth;

TEST(ArtifactLayer, IsWarmWhenAllBytesAreThere) {
  const StoredModel model{
      .manifest = {.id = *domain::ModelId::parse("m"), .digest = sha256("x"), .bytes = 100, .gguf = {}},
      .path = "",
      .present = 100,
      .verified = true};
  const auto reading = reading_of(model);
  EXPECT_EQ(reading.layer.warmth, Warmth::warm);
  EXPECT_EQ(reading.layer.total, 100U);
  EXPECT_TRUE(reading.verified);
}

TEST(ArtifactLayer, IsPartialUntilAnImportIsPublished) {
  EXPECT_EQ(reading_of_import(0, 100).layer.warmth, Warmth::cold);
  EXPECT_EQ(reading_of_import(100, 100).layer.warmth, Warmth::partial);
  EXPECT_EQ(reading_of_import(5, std::nullopt).layer.total, std::nullopt);
  EXPECT_FALSE(reading_of_import(100, 100).verified);
}

TEST(ArtifactLayer, OfAModelThatIsNotThereIsCold) {
  EXPECT_EQ(reading_of_absent().layer.warmth, Warmth::cold);
  EXPECT_EQ(reading_of_absent().layer.bytes, 0U);
}

}  // namespace
}  // namespace hearth::artifact
