#pragma once
// The nine layers in which a model can be warm, each by itself (docs/architecture.md, "Words").
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace hearth::domain {

enum class Layer { artifact, pages, packed, process, weights, device, kernels, prefix, power };
inline constexpr std::array kAllLayers = {Layer::artifact, Layer::pages,   Layer::packed,
                                          Layer::process,  Layer::weights, Layer::device,
                                          Layer::kernels,  Layer::prefix,  Layer::power};
[[nodiscard]] std::string_view name_of(Layer layer);
[[nodiscard]] std::optional<Layer> layer_named(std::string_view name);

enum class Warmth { cold, partial, warm };
[[nodiscard]] std::string_view name_of(Warmth warmth);
[[nodiscard]] std::optional<Warmth> warmth_named(std::string_view name);

// What was measured of one layer. Empty means unknown: nothing measures it here (yet). Never a guess.
struct LayerReading {
  std::optional<Warmth> warmth;
  std::optional<base::Bytes> bytes;   // warm bytes
  std::optional<base::Bytes> total;   // bytes when fully warm
  std::optional<base::Bytes> locked;  // weights only: pinned bytes

  friend bool operator==(const LayerReading&, const LayerReading&) = default;
};
// cold when bytes is 0, warm when it reaches total, else partial. An empty total (0) is cold.
[[nodiscard]] LayerReading reading_of(base::Bytes bytes, base::Bytes total);

using LayerReadings = std::array<LayerReading, kAllLayers.size()>;
[[nodiscard]] inline LayerReading& at(LayerReadings& readings, Layer layer) {
  return readings[static_cast<std::size_t>(layer)];
}
[[nodiscard]] inline const LayerReading& at(const LayerReadings& readings, Layer layer) {
  return readings[static_cast<std::size_t>(layer)];
}

}  // namespace hearth::domain
