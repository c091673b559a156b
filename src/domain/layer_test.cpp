#include "domain/layer.h"

#include <gtest/gtest.h>

#include "domain/stage.h"

namespace hearth::domain {
namespace {

TEST(Layer, EveryNameFindsItsLayer) {
  for (const Layer layer : kAllLayers)
    EXPECT_EQ(layer_named(name_of(layer)), layer);
  EXPECT_FALSE(layer_named("cache"));
}

TEST(Layer, ReadingSaysColdPartialOrWarm) {
  EXPECT_EQ(reading_of(0, 10).warmth, Warmth::cold);
  EXPECT_EQ(reading_of(4, 10).warmth, Warmth::partial);
  EXPECT_EQ(reading_of(10, 10).warmth, Warmth::warm);
  EXPECT_EQ(reading_of(0, 0).warmth, Warmth::cold);
}

TEST(Stage, EveryNameFindsItsStage) {
  for (const Stage stage : kAllStages)
    EXPECT_EQ(stage_named(name_of(stage)), stage);
  EXPECT_EQ(name_of(Stage::chat_template), "template");
}

}  // namespace
}  // namespace hearth::domain
