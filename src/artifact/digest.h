#pragma once
// SHA-256 of bytes as they come (OpenSSL). Not thread-safe; distinct objects are independent.
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hearth::artifact {

class Digest {
 public:
  // 64 lower-case hex digits. Ordered and safe as a file name.
  static constexpr std::size_t kTextLength = 64;
  // Empty unless `text` is exactly that.
  [[nodiscard]] static std::optional<Digest> parse(std::string_view text);
  explicit Digest(const std::array<unsigned char, 32>& bytes);

  [[nodiscard]] const std::string& text() const { return text_; }
  friend auto operator<=>(const Digest&, const Digest&) = default;

 private:
  Digest() = default;
  std::string text_;
};

class Sha256 {
 public:
  // Throws std::bad_alloc when OpenSSL has no memory for it.
  Sha256();
  void add(std::span<const std::byte> bytes);
  // The digest of all that was added. REQUIRES: not called before.
  [[nodiscard]] Digest finish();

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

[[nodiscard]] Digest sha256(std::string_view bytes);

}  // namespace hearth::artifact
