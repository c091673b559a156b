#pragma once
// The name of a model: "qwen3-4b", "qwen3-4b:q4_k_m". Lower-case letters, digits, '.', '_' and '-', at most 128 bytes,
// with at most one ':' between non-empty parts, each of which begins with a letter or digit. The set is safe as a file
// name (with
// ':' replaced) and as an argument, so a value of this type may be used for both.
#include <compare>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::domain {

class ModelId {
 public:
  // Case is folded. Errors: bad_request, saying what is allowed.
  [[nodiscard]] static base::Result<ModelId> parse(std::string_view text);
  // The id that a file gets when nobody names it: its name without folder and ".gguf", unfit characters made '-'.
  // Errors: bad_request when nothing usable is left.
  [[nodiscard]] static base::Result<ModelId> from_file_name(std::string_view file_name);

  [[nodiscard]] const std::string& text() const { return text_; }
  // The id as a file name: ':' becomes '@', which no id contains.
  [[nodiscard]] std::string file_stem() const;

  friend auto operator<=>(const ModelId&, const ModelId&) = default;

 private:
  explicit ModelId(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace hearth::domain
