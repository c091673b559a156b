#pragma once
// Everything that a file of one architecture holds, decided before the first byte is written. Pure.
//
// An architecture is one function from a shape to a plan; writing a plan knows no architecture. Another one (a sliding
// window, say) is another function beside llama_plan() and another option of the command line.
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "tools/make_model/gguf_writer.h"
#include "tools/make_model/shape.h"
#include "tools/make_model/vocabulary.h"

namespace hearth::make_model {

struct TensorPlan {
  std::string name;
  std::vector<std::uint64_t> dimensions;  // the row's length, which is the fan-in, first
  bool norm = false;                      // f32 around 1 instead of weights of the model's type
  base::Bytes bytes = 0;
};

struct Plan {
  WeightType type = WeightType::q4_0;
  std::uint64_t seed = 0;
  GgufHead head;
  std::vector<TensorPlan> tensors;
};

// REQUIRES: check(shape).
[[nodiscard]] Plan llama_plan(const Shape& shape);

}  // namespace hearth::make_model
