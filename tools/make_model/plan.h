#pragma once
// Everything that a file of one architecture holds, decided before the first byte is written. Pure.
//
// An architecture is one function from a shape to a plan; writing a plan knows no architecture. Another one is
// another function beside llama_plan() and another option of the command line.
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
// The gemma3 architecture, for shapes with a sliding window. REQUIRES: check(shape), shape.sliding_window > 0.
[[nodiscard]] Plan sliding_window_plan(const Shape& shape);
// The one that the shape asks for.
[[nodiscard]] Plan plan_for(const Shape& shape);

}  // namespace hearth::make_model
