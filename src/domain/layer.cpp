#include "domain/layer.h"

#include "domain/named.h"

namespace hearth::domain {

std::string_view name_of(Layer layer) {
  switch (layer) {
    case Layer::artifact:
      return "artifact";
    case Layer::pages:
      return "pages";
    case Layer::packed:
      return "packed";
    case Layer::process:
      return "process";
    case Layer::weights:
      return "weights";
    case Layer::device:
      return "device";
    case Layer::kernels:
      return "kernels";
    case Layer::prefix:
      return "prefix";
    case Layer::power:
      return "power";
  }
  return "";
}

std::optional<Layer> layer_named(std::string_view name) { return find_named(kAllLayers, name); }

std::string_view name_of(Warmth warmth) {
  switch (warmth) {
    case Warmth::cold:
      return "cold";
    case Warmth::partial:
      return "partial";
    case Warmth::warm:
      return "warm";
  }
  return "";
}

std::optional<Warmth> warmth_named(std::string_view name) {
  return find_named(std::array{Warmth::cold, Warmth::partial, Warmth::warm}, name);
}

LayerReading reading_of(base::Bytes bytes, base::Bytes total) {
  const Warmth warmth = bytes == 0 ? Warmth::cold : bytes >= total ? Warmth::warm : Warmth::partial;
  return {.warmth = warmth, .bytes = bytes, .total = total, .locked = std::nullopt};
}

}  // namespace hearth::domain
