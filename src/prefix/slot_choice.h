#pragma once
// Which slot of an engine a prompt should go to. Pure: a snapshot in, a choice with its reason out.
//
// The price of a slot is what must be evaluated there (the part of the prompt that it does not hold), and, weighted
// with how likely somebody comes back for it, what of its contents the prompt would overwrite. Both are in bytes of
// rendered prompt: the question is asked before any tokenizer is.
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace hearth::prefix {

struct SlotView {
  bool busy = false;
  std::size_t held = 0;         // bytes of prompt that it holds
  std::size_t common = 0;       // of these, with the prompt in question
  std::uint64_t last_used = 0;  // ascending
};

struct SlotChoice {
  unsigned slot = 0;
  std::size_t common = 0;
};

// How likely the part of a prompt that is overwritten is needed again: continuations seen among requests seen.
[[nodiscard]] double tail_need(std::size_t continued, std::size_t requests);

// `restorable`: bytes of the prompt that a stored state would bring into any slot, 0 for none. Of equal prices the slot
// that holds most of the prompt already, then the one used longest ago. Empty when every slot is busy.
[[nodiscard]] std::optional<SlotChoice> choose_slot(const std::vector<SlotView>& slots, std::size_t prompt,
                                                    std::size_t restorable, double tail_need);

}  // namespace hearth::prefix
