#include "prefix/slot_choice.h"

#include <algorithm>

namespace hearth::prefix {

double tail_need(std::size_t continued, std::size_t requests) {
  return (static_cast<double>(continued) + 1) / (static_cast<double>(requests) + 2);
}

std::optional<SlotChoice> choose_slot(const std::vector<SlotView>& slots, std::size_t prompt, std::size_t restorable,
                                      double tail_need) {
  std::optional<SlotChoice> best;
  double lowest = 0;
  for (unsigned index = 0; index < slots.size(); ++index) {
    const SlotView& slot = slots[index];
    if (slot.busy) continue;
    const double evaluated =
        static_cast<double>(prompt - std::max(std::min(slot.common, prompt), std::min(restorable, prompt)));
    // A restore replaces everything, what is in common as well; what the prompt brings back is not lost.
    const double lost = static_cast<double>(slot.held - std::min(slot.common, slot.held));
    const double price = evaluated + tail_need * lost;
    const auto rank = [](const SlotView& view) { return std::pair(view.common, ~view.last_used); };
    const bool preferred = best && rank(slot) > rank(slots[best->slot]);
    if (best && (price > lowest || (price == lowest && !preferred))) continue;
    best = SlotChoice{index, slot.common};
    lowest = price;
  }
  return best;
}

}  // namespace hearth::prefix
