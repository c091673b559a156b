#pragma once
// Changing one layer of one model on purpose (native API: warm, cool, pin, unpin).
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace hearth::domain {

enum class LayerAction { warm, cool, pin, unpin };
[[nodiscard]] std::string_view name_of(LayerAction action);

// What was done. Bytes that were not measured are empty.
struct LayerWork {
  double ms = 0;
  std::optional<base::Bytes> bytes;  // that came in, left, or are locked now
};

}  // namespace hearth::domain
