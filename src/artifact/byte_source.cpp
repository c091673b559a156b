#include "artifact/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace hearth::artifact {

base::Result<FileSource> FileSource::open(const char* path) {
  // O_NONBLOCK: opening a pipe must not hang; it has no effect on a regular file.
  base::Fd fd(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return base::fail_errno(fmt::format("opening {}", path), errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return base::fail_errno(fmt::format("reading the size of {}", path), errno);
  if (!S_ISREG(info.st_mode)) return base::fail(base::ErrorCode::bad_request, fmt::format("{} is not a file", path));
  return FileSource(std::move(fd), static_cast<base::Bytes>(info.st_size));
}

base::Status FileSource::read_at(base::Bytes offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno("reading", errno);
    if (got == 0) return base::fail(base::ErrorCode::io, "the file became shorter while it was read");
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<base::Bytes>(got);
  }
  return {};
}

base::Status MemorySource::read_at(base::Bytes offset, std::span<std::byte> into) const {
  std::ranges::copy(bytes_.subspan(offset, into.size()), into.begin());
  return {};
}

}  // namespace hearth::artifact
