#include "tools/make_model/shape.h"

#include <fmt/format.h>

#include <array>

#include "tools/make_model/vocabulary.h"

namespace hearth::make_model {
namespace {

std::unexpected<base::Error> refuse(std::string message) {
  return base::fail(base::ErrorCode::bad_request, std::move(message));
}

struct Bound {
  std::string_view option;
  std::uint64_t value;
  std::uint64_t least;
  std::uint64_t most;
};

base::Status check_bounds(const Shape& shape) {
  // Generous for any real model, and small enough that no product of them overflows 64 bits.
  const std::array bounds = {
      Bound{"--layers", shape.layers, 1, 1024},
      Bound{"--embd", shape.embd, 32, 65'536},
      Bound{"--ff", shape.ff, 32, 1'048'576},
      Bound{"--heads", shape.heads, 1, 1024},
      Bound{"--kv-heads", shape.kv_heads, 1, 1024},
      Bound{"--vocab", shape.vocab, kSmallestVocabulary, 1'048'576},
      Bound{"--context", shape.context, 16, 16'777'216},
      Bound{"--sliding-window", shape.sliding_window, 0, 16'777'216},
  };
  for (const auto& [option, value, least, most] : bounds) {
    if (value < least || value > most)
      return refuse(fmt::format("{} is {}; it must be from {} to {}", option, value, least, most));
  }
  return {};
}

base::Status check_heads(const Shape& shape) {
  if (shape.embd % shape.heads != 0 || shape.head_size() % 2 != 0) {
    return refuse(fmt::format("--embd {} does not divide into {} heads of even size; choose another --heads",
                              shape.embd, shape.heads));
  }
  if (shape.heads % shape.kv_heads != 0) {
    return refuse(fmt::format("--heads {} is not a multiple of --kv-heads {}", shape.heads, shape.kv_heads));
  }
  return {};
}

base::Status check_blocks(const Shape& shape) {
  const auto& layout = layout_of(shape.type);
  for (const auto& [option, value] : {std::pair("--embd", shape.embd), std::pair("--ff", shape.ff)}) {
    if (value % layout.block_elements != 0) {
      return refuse(
          fmt::format("{} {} does not divide into the blocks of {} that {} has; choose a multiple or another --type",
                      option, value, layout.block_elements, layout.name));
    }
  }
  return {};
}

}  // namespace

const WeightLayout& layout_of(WeightType type) {
  static constexpr WeightLayout kQ4_0 = {"q4_0", 2, 2, 32, 18};
  static constexpr WeightLayout kQ8_0 = {"q8_0", 8, 7, 32, 34};
  static constexpr WeightLayout kF16 = {"f16", 1, 1, 1, 2};
  static constexpr WeightLayout kQ4K = {"q4_k", 12, 14, 256, 144};
  switch (type) {
    case WeightType::q4_0:
      return kQ4_0;
    case WeightType::q8_0:
      return kQ8_0;
    case WeightType::f16:
      return kF16;
    case WeightType::q4_k:
      return kQ4K;
  }
  return kQ4_0;
}

base::Status check(const Shape& shape) {
  for (auto judge : {check_bounds, check_heads, check_blocks}) {
    if (auto good = judge(shape); !good) return good;
  }
  if (!(shape.rope_base >= 1 && shape.rope_base <= 1e12))
    return refuse(fmt::format("--rope-base is {}; it must be from 1 to 1e12", shape.rope_base));
  return {};
}

}  // namespace hearth::make_model
