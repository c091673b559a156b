#pragma once
// SHA-256 of bytes as they come (OpenSSL). Not thread-safe; distinct objects are independent.
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hearth::base {

class Sha256 {
 public:
  using Bytes = std::array<unsigned char, 32>;
  // Throws std::bad_alloc when OpenSSL has no memory for it.
  Sha256();
  void add(std::span<const std::byte> bytes);
  void add(std::string_view bytes) { add(std::as_bytes(std::span(bytes))); }
  // A part of a list: its length goes in before it, so that no two lists look alike.
  void add_part(std::string_view bytes);
  // REQUIRES: called once.
  [[nodiscard]] Bytes finish();
  [[nodiscard]] std::string finish_hex();  // 64 lower-case digits

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

}  // namespace hearth::base
