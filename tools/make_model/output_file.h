#pragma once
// A file that appears under its name only when it is whole. Written under a temporary name beside it; removed when
// given up. Not synced: what it holds can be made again. Single-threaded.
#include <cstddef>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"

namespace hearth::make_model {

class OutputFile {
 public:
  // Errors: no_space when `bytes` are more than the file system has free (both numbers are named); permission,
  // not_found, …
  [[nodiscard]] static base::Result<OutputFile> create(std::string path, base::Bytes bytes);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  [[nodiscard]] base::Status write(std::span<const std::byte> bytes);
  // Closes it and gives it its name, replacing what had that name.
  [[nodiscard]] base::Status publish();

 private:
  OutputFile(std::string path, std::string temporary, base::Fd fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

  std::string path_;
  std::string temporary_;  // empty once there is nothing to remove
  base::Fd fd_;
};

}  // namespace hearth::make_model
