#pragma once
// The numbers of the GGUF format: tensor types with the size of their blocks, and the names of whole-file
// quantisations. Source: ggml's type table and llama.cpp's file types (docs of the GGUF format, version 3).
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace hearth::artifact {

// `elements` consecutive weights of a row share a block of `bytes` bytes.
struct TensorType {
  std::string_view name;
  std::uint32_t elements = 1;
  std::uint32_t bytes = 0;
};

// Empty for a number that is not known here (new types appear) or that was withdrawn: such a tensor cannot be sized.
[[nodiscard]] std::optional<TensorType> tensor_type_of(std::uint32_t number);

// "Q4_0", "Q4_K_M", …: the meaning of general.file_type. Empty when the number is not known.
[[nodiscard]] std::optional<std::string_view> file_type_name(std::uint64_t number);

}  // namespace hearth::artifact
