#pragma once
// The system calls by which the store changes the disk, one virtual function each, so that tests can make each of them
// fail or be the last one before a crash. Stateless and thread-safe. Errors are errno's, with the path in the sentence.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"

namespace hearth::artifact {

class StoreFiles {
 public:
  virtual ~StoreFiles() = default;

  // Creates the folder and those above it; there already is fine.
  [[nodiscard]] virtual base::Status make_folder(const std::string& path);
  // A new file, open for reading and writing. Errors: already_exists, …
  [[nodiscard]] virtual base::Result<base::Fd> create(const std::string& path);
  [[nodiscard]] virtual base::Status write(int fd, std::span<const std::byte> bytes);
  // Takes disk space for the first `bytes` of the file without changing its size. A file system that cannot is fine.
  [[nodiscard]] virtual base::Status reserve(int fd, base::Bytes bytes);
  [[nodiscard]] virtual base::Status sync(int fd);
  [[nodiscard]] virtual base::Status make_read_only(int fd);
  [[nodiscard]] virtual base::Status rename(const std::string& from, const std::string& to);
  // Not there is fine.
  [[nodiscard]] virtual base::Status remove(const std::string& path);
  [[nodiscard]] virtual base::Status sync_folder(const std::string& path);
  // Bytes that an unprivileged process may still write to the file system.
  [[nodiscard]] virtual base::Result<base::Bytes> free_bytes(const std::string& path);
};

// Reading, which changes nothing.
struct FileFacts {
  bool regular = false;  // a file itself, not a link to one
  base::Bytes bytes = 0;
  std::int64_t mtime_ns = 0;
};
// Errors: not_found, io, …
[[nodiscard]] base::Result<FileFacts> facts_of_file(const std::string& path);
// The whole file. Errors: too_large beyond `most` bytes, not_found, …
[[nodiscard]] base::Result<std::string> read_file(const std::string& path, std::size_t most);
// Names in a folder, sorted, without . and ..
[[nodiscard]] base::Result<std::vector<std::string>> names_in(const std::string& folder);
// Asks the kernel to begin writing this range to the disk; a hint, so that the sync at the end has less to do.
void begin_writeback(int fd, base::Bytes offset, base::Bytes bytes);

}  // namespace hearth::artifact
