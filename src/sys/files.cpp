#include "sys/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/fd.h"
#include "sys/syscall.h"

namespace hearth::sys {

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

base::Status write_atomic(Files& files, const std::string& path, std::string_view contents, Survives survives,
                          mode_t mode) {
  const std::string temporary = path + ".tmp";
  {
    auto file = files.create(temporary, IfPresent::truncate, mode);
    if (!file) return base::pass(file);
    auto written = (*file)->write(contents);
    if (written && survives == Survives::power_loss) written = (*file)->sync();
    if (!written) {
      (void)files.remove(temporary);  // best effort: the error that matters is the one above
      return written;
    }
  }
  if (auto renamed = files.rename(temporary, path); !renamed) {
    (void)files.remove(temporary);
    return renamed;
  }
  return survives == Survives::power_loss ? files.sync_directory(directory_of(path)) : base::Status{};
}

namespace {

base::Fd open_file(const std::string& path, int flags, mode_t mode = 0) {
  return base::Fd(retry_interrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); }));
}

class LinuxWritableFile final : public WritableFile {
 public:
  LinuxWritableFile(base::Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  base::Status write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const auto count = retry_interrupted([&] { return ::write(fd_.get(), bytes.data(), bytes.size()); });
      if (count < 0) return base::fail_errno("writing " + path_, errno);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
  }

  base::Status sync() override {
    if (retry_interrupted([&] { return ::fsync(fd_.get()); }) != 0) return base::fail_errno("syncing " + path_, errno);
    return {};
  }

 private:
  base::Fd fd_;
  std::string path_;
};

class LinuxFileLock final : public FileLock {
 public:
  explicit LinuxFileLock(base::Fd fd) : fd_(std::move(fd)) {}

 private:
  base::Fd fd_;
};

}  // namespace

base::Result<std::string> LinuxFiles::read(const std::string& path, base::Bytes at_most) const {
  const auto fd = open_file(path, O_RDONLY);
  if (!fd) return base::fail_errno("opening " + path, errno);
  std::string contents;
  // Files of /proc have no length of their own, so the length is found by reading.
  for (;;) {
    const auto have = contents.size();
    contents.resize(have + 16384);
    const auto count = retry_interrupted([&] { return ::read(fd.get(), contents.data() + have, 16384); });
    if (count < 0) return base::fail_errno("reading " + path, errno);
    contents.resize(have + static_cast<std::size_t>(count));
    if (contents.size() > at_most) {
      return base::fail(base::ErrorCode::too_large,
                        "reading " + path + ": it has more than the " + std::to_string(at_most) + " bytes allowed");
    }
    if (count == 0) return contents;
  }
}

base::Result<std::string> LinuxFiles::read_at(const std::string& path, base::Bytes offset, std::size_t at_most) const {
  const auto fd = open_file(path, O_RDONLY);
  if (!fd) return base::fail_errno("opening " + path, errno);
  std::string contents(at_most, '\0');
  std::size_t have = 0;
  while (have < at_most) {
    const auto count = retry_interrupted(
        [&] { return ::pread(fd.get(), contents.data() + have, at_most - have, static_cast<off_t>(offset + have)); });
    if (count < 0) return base::fail_errno("reading " + path, errno);
    if (count == 0) break;
    have += static_cast<std::size_t>(count);
  }
  contents.resize(have);
  return contents;
}

base::Status LinuxFiles::sync_file(const std::string& path) {
  const auto fd = open_file(path, O_RDONLY);
  if (!fd) return base::fail_errno("opening " + path, errno);
  if (retry_interrupted([&] { return ::fsync(fd.get()); }) != 0) return base::fail_errno("syncing " + path, errno);
  return {};
}

base::Result<base::Bytes> LinuxFiles::size(const std::string& path) const {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return base::fail_errno("looking at " + path, errno);
  if (!S_ISREG(status.st_mode)) {
    return base::fail(base::ErrorCode::unsupported, "looking at " + path + ": it is not a regular file");
  }
  return static_cast<base::Bytes>(status.st_size);
}

base::Result<std::vector<std::string>> LinuxFiles::list(const std::string& directory) const {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), &::closedir);
  if (!stream) return base::fail_errno("listing " + directory, errno);
  std::vector<std::string> names;
  for (errno = 0; const dirent* entry = ::readdir(stream.get()); errno = 0) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return base::fail_errno("listing " + directory, errno);
  std::ranges::sort(names);
  return names;
}

base::Result<base::Bytes> LinuxFiles::free_space(const std::string& directory) const {
  struct statvfs status {};
  if (::statvfs(directory.c_str(), &status) != 0)
    return base::fail_errno("asking for free space of " + directory, errno);
  return static_cast<base::Bytes>(status.f_bavail) * status.f_frsize;
}

base::Result<std::unique_ptr<WritableFile>> LinuxFiles::create(const std::string& path, IfPresent if_present,
                                                               mode_t mode) {
  auto fd = open_file(path, O_WRONLY | O_CREAT | (if_present == IfPresent::fail ? O_EXCL : O_TRUNC), mode);
  if (!fd) return base::fail_errno("creating " + path, errno);
  return std::make_unique<LinuxWritableFile>(std::move(fd), path);
}

base::Status LinuxFiles::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return base::fail_errno("renaming " + from + " to " + to, errno);
  return {};
}

base::Result<bool> LinuxFiles::remove(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return true;
  if (errno == ENOENT) return false;
  return base::fail_errno("removing " + path, errno);
}

base::Status LinuxFiles::sync_directory(const std::string& directory) {
  const auto fd = open_file(directory, O_RDONLY | O_DIRECTORY);
  if (!fd) return base::fail_errno("opening " + directory, errno);
  if (retry_interrupted([&] { return ::fsync(fd.get()); }) != 0) return base::fail_errno("syncing " + directory, errno);
  return {};
}

base::Status LinuxFiles::ensure_directory(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0) return {};
  if (errno == ENOENT) {
    const auto parent = directory_of(path);
    if (parent != path && parent != ".") {
      if (auto made = ensure_directory(parent, mode); !made) return made;
      if (::mkdir(path.c_str(), mode) == 0) return {};
    }
  }
  if (errno != EEXIST) return base::fail_errno("making the folder " + path, errno);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return base::fail_errno("looking at " + path, errno);
  return S_ISDIR(status.st_mode) ? base::Status{} : base::fail_errno("making the folder " + path, ENOTDIR);
}

base::Result<std::unique_ptr<FileLock>> LinuxFiles::lock(const std::string& path) {
  auto fd = open_file(path, O_RDWR | O_CREAT, 0600);
  if (!fd) return base::fail_errno("opening the lock " + path, errno);
  if (retry_interrupted([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) != 0) {
    if (errno == EWOULDBLOCK) {
      return base::fail(base::ErrorCode::in_use, "locking " + path + ": another process holds it");
    }
    return base::fail_errno("locking " + path, errno);
  }
  return std::make_unique<LinuxFileLock>(std::move(fd));
}

}  // namespace hearth::sys
