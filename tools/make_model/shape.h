#pragma once
// The shape of a model to be made: what the command line asks for. Pure.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::make_model {

enum class WeightType { q4_0, q8_0, f16, q4_k };

struct Shape {
  std::uint64_t layers = 0;
  std::uint64_t embd = 0;
  std::uint64_t ff = 0;
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t vocab = 0;
  std::uint64_t context = 8192;
  double rope_base = 500'000;
  WeightType type = WeightType::q4_0;
  std::uint64_t seed = 1;
  // Tokens that a layer looks back, in five layers of six; 0: all layers see everything, and the architecture is
  // llama's.
  std::uint64_t sliding_window = 0;
  bool untied = false;  // an output matrix of its own instead of the embedding's

  [[nodiscard]] std::uint64_t head_size() const { return embd / heads; }
};

// How a weight type lies in the file (ggml's block layouts).
struct WeightLayout {
  std::string_view name;        // "q4_0"
  std::uint32_t number = 0;     // ggml's number of the tensor type
  std::uint32_t file_type = 0;  // general.file_type of a file that is mostly this
  std::uint64_t block_elements = 1;
  std::uint64_t block_bytes = 1;
};
[[nodiscard]] const WeightLayout& layout_of(WeightType type);

// Errors: bad_request, one sentence that names the option and what it must be.
[[nodiscard]] base::Status check(const Shape& shape);

}  // namespace hearth::make_model
