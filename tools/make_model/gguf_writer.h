#pragma once
// Writes the head of a GGUF file (version 3): metadata, tensor infos, and the padding before the data. In memory; pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace hearth::make_model {

inline constexpr base::Bytes kAlignment = 32;
[[nodiscard]] constexpr base::Bytes padded(base::Bytes bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

class GgufHead {
 public:
  void text(std::string_view key, std::string_view value);
  void number(std::string_view key, std::uint32_t value);
  void real(std::string_view key, float value);
  void flag(std::string_view key, bool value);
  void texts(std::string_view key, const std::vector<std::string>& values);
  void numbers(std::string_view key, const std::vector<std::int32_t>& values);
  // Tensor data must follow the head in the order of these calls, each padded to kAlignment. `type` is ggml's number.
  void tensor(std::string_view name, const std::vector<std::uint64_t>& dimensions, std::uint32_t type,
              base::Bytes bytes);

  [[nodiscard]] std::string bytes() const;
  [[nodiscard]] base::Bytes data_bytes() const { return data_bytes_; }

 private:
  void key(std::string_view key, std::uint32_t type);

  std::string metadata_;
  std::string infos_;
  std::uint64_t keys_ = 0;
  std::uint64_t tensors_ = 0;
  base::Bytes data_bytes_ = 0;
};

}  // namespace hearth::make_model
