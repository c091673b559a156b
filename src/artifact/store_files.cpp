#include "artifact/store_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "artifact/byte_source.h"

namespace hearth::artifact {

using base::Fd;
using base::Result;
using base::Status;

namespace {

Status status_of(int result, std::string_view what, const std::string& path = {}) {
  if (result == 0) return {};
  const int error_number = errno;
  return base::fail_errno(path.empty() ? std::string(what) : fmt::format("{} {}", what, path), error_number);
}

}  // namespace

Status StoreFiles::make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return base::fail_errno(fmt::format("making the folder {}", path), error.value());
  return {};
}

Result<Fd> StoreFiles::create(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) return base::fail_errno(fmt::format("creating {}", path), errno);
  return fd;
}

Status StoreFiles::write(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return base::fail_errno("writing", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Status StoreFiles::reserve(int fd, base::Bytes bytes) {
  if (bytes == 0) return {};
  const int result = ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes));
  if (result != 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) return {};
  return status_of(result, "reserving disk space");
}

Status StoreFiles::sync(int fd) { return status_of(::fsync(fd), "writing to the disk"); }

Status StoreFiles::make_read_only(int fd) { return status_of(::fchmod(fd, 0444), "making the file read-only"); }

Status StoreFiles::rename(const std::string& from, const std::string& to) {
  return status_of(::rename(from.c_str(), to.c_str()), fmt::format("renaming {} to", from), to);
}

Status StoreFiles::remove(const std::string& path) {
  const int result = ::unlink(path.c_str());
  if (result != 0 && errno == ENOENT) return {};
  return status_of(result, "removing", path);
}

Status StoreFiles::sync_folder(const std::string& path) {
  const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return base::fail_errno(fmt::format("opening {}", path), errno);
  return status_of(::fsync(folder.get()), "writing to the disk", path);
}

Result<base::Bytes> StoreFiles::free_bytes(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0)
    return base::fail_errno(fmt::format("asking for the free space of {}", path), errno);
  return static_cast<base::Bytes>(info.f_bavail) * info.f_frsize;
}

Result<FileFacts> facts_of_file(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return base::fail_errno(fmt::format("looking at {}", path), errno);
  return FileFacts{.regular = S_ISREG(info.st_mode),
                   .bytes = static_cast<base::Bytes>(info.st_size),
                   .mtime_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec};
}

Result<std::string> read_file(const std::string& path, std::size_t most) {
  const auto source = FileSource::open(path.c_str());
  if (!source) return std::unexpected(source.error());
  if (source->size() > most) {
    return base::fail(base::ErrorCode::too_large, fmt::format("{} is larger than {} bytes", path, most));
  }
  std::string text(static_cast<std::size_t>(source->size()), '\0');
  if (auto read = source->read_at(0, std::as_writable_bytes(std::span(text))); !read) return base::pass(read, path);
  return text;
}

Result<std::vector<std::string>> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) return base::fail_errno(fmt::format("listing {}", folder), error.value());
  std::ranges::sort(names);
  return names;
}

void begin_writeback(int fd, base::Bytes offset, base::Bytes bytes) {
  ::sync_file_range(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes), SYNC_FILE_RANGE_WRITE);
}

}  // namespace hearth::artifact
