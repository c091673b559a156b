#include "tools/make_model/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace hearth::make_model {

base::Result<OutputFile> OutputFile::create(std::string path, base::Bytes bytes) {
  std::string temporary = fmt::format("{}.partial-{}", path, ::getpid());
  base::Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) return base::fail_errno(fmt::format("creating {}", temporary), errno);
  OutputFile file(std::move(path), std::move(temporary), std::move(fd));
  struct statvfs info {};
  if (::fstatvfs(file.fd_.get(), &info) != 0)
    return base::fail_errno(fmt::format("asking for the free space of {}", file.path_), errno);
  const base::Bytes free = static_cast<base::Bytes>(info.f_bavail) * info.f_frsize;
  if (bytes > free) {
    return base::fail(base::ErrorCode::no_space,
                      fmt::format("{} needs {} and its disk has {} free; make a smaller model or write it elsewhere",
                                  file.path_, base::format_bytes(bytes), base::format_bytes(free)));
  }
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})), fd_(std::move(other.fd_)) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

base::Status OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return base::fail_errno(fmt::format("writing {}", path_), errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

base::Status OutputFile::publish() {
  // close() is where some file systems tell of a write that failed.
  if (::close(fd_.release()) != 0) return base::fail_errno(fmt::format("writing {}", path_), errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    return base::fail_errno(fmt::format("renaming {} to {}", temporary_, path_), errno);
  temporary_.clear();
  return {};
}

}  // namespace hearth::make_model
