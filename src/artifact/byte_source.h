#pragma once
// Random access to the bytes of something whose size is known: a file, or memory in tests.
#include <cstddef>
#include <span>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"

namespace hearth::artifact {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  [[nodiscard]] virtual base::Bytes size() const = 0;
  // Fills `into` from `offset`. REQUIRES: offset + into.size() <= size(). Errors: io (also when the file has shrunk
  // since).
  [[nodiscard]] virtual base::Status read_at(base::Bytes offset, std::span<std::byte> into) const = 0;
};

// A regular file, read with pread. Safe to use from several threads at once.
class FileSource final : public ByteSource {
 public:
  // Errors: not_found, permission, io; bad_request when `path` is not a regular file.
  [[nodiscard]] static base::Result<FileSource> open(const char* path);
  // Takes over a descriptor of a regular file that is open for reading; `size` is how much of it counts.
  FileSource(base::Fd fd, base::Bytes size) : fd_(std::move(fd)), size_(size) {}

  [[nodiscard]] base::Bytes size() const override { return size_; }
  [[nodiscard]] base::Status read_at(base::Bytes offset, std::span<std::byte> into) const override;

 private:
  base::Fd fd_;
  base::Bytes size_;
};

// Borrows the bytes, which must outlive it.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] base::Bytes size() const override { return bytes_.size(); }
  [[nodiscard]] base::Status read_at(base::Bytes offset, std::span<std::byte> into) const override;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace hearth::artifact
