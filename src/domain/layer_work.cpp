#include "domain/layer_work.h"

namespace hearth::domain {

std::string_view name_of(LayerAction action) {
  switch (action) {
    case LayerAction::warm:
      return "warm";
    case LayerAction::cool:
      return "cool";
    case LayerAction::pin:
      return "pin";
    case LayerAction::unpin:
      return "unpin";
  }
  return "";
}

}  // namespace hearth::domain
