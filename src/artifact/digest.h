#pragma once
// A SHA-256 as the store names content by it.
#include <optional>
#include <string>
#include <string_view>

#include "base/sha256.h"

namespace hearth::artifact {

class Digest {
 public:
  // 64 lower-case hex digits. Ordered and safe as a file name.
  static constexpr std::size_t kTextLength = 64;
  // Empty unless `text` is exactly that.
  [[nodiscard]] static std::optional<Digest> parse(std::string_view text);
  // Of all that was added. REQUIRES: as Sha256::finish_hex.
  explicit Digest(base::Sha256& hash) : text_(hash.finish_hex()) {}

  [[nodiscard]] const std::string& text() const { return text_; }
  friend auto operator<=>(const Digest&, const Digest&) = default;

 private:
  Digest() = default;
  std::string text_;
};

[[nodiscard]] Digest sha256(std::string_view bytes);

}  // namespace hearth::artifact
