#include "sys/pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/fd.h"
#include "base/scope_exit.h"
#include "sys/syscall.h"

namespace hearth::sys {
namespace {

constexpr long kSysCachestat = 451;  // the same on every architecture; glibc 2.36 has no name for it
constexpr base::Bytes kReadAheadPiece = 128 * 1024;
constexpr base::Bytes kMincoreWindow = 1ULL << 30;

// linux/mman.h: struct cachestat_range, struct cachestat.
struct CachestatRange {
  std::uint64_t offset, length;
};
struct Cachestat {
  std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

base::Bytes page_size() {
  static const auto size = static_cast<base::Bytes>(::sysconf(_SC_PAGESIZE));
  return size;
}

struct OpenFile {
  base::Fd fd;
  struct stat status {};
  ByteRange range;  // cut to the file
};

base::Result<OpenFile> open_range(const std::string& path, std::optional<ByteRange> range) {
  OpenFile file;
  file.fd = base::Fd(retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!file.fd) return base::fail_errno("opening " + path, errno);
  if (::fstat(file.fd.get(), &file.status) != 0) return base::fail_errno("looking at " + path, errno);
  if (!S_ISREG(file.status.st_mode)) {
    return base::fail(base::ErrorCode::unsupported, "looking at " + path + ": it is not a regular file");
  }
  const auto size = static_cast<base::Bytes>(file.status.st_size);
  file.range = range.value_or(ByteRange{0, size});
  file.range.offset = std::min(file.range.offset, size);
  file.range.length = std::min(file.range.length, size - file.range.offset);
  return file;
}

std::optional<base::Bytes> count_by_cachestat(const OpenFile& file) {
  CachestatRange range{file.range.offset, file.range.length};
  Cachestat answer{};
  if (::syscall(kSysCachestat, file.fd.get(), &range, &answer, 0U) != 0) return std::nullopt;
  return std::min(answer.cached * page_size(), file.range.length);
}

// mincore says "resident" of every page of a file that the caller neither owns nor may write (Linux 5.2 and later).
bool mincore_tells_the_truth(const OpenFile& file, const std::string& path) {
  return ::geteuid() == 0 || file.status.st_uid == ::geteuid() || ::access(path.c_str(), W_OK) == 0;
}

// Bytes of the range in one window that are resident; windows begin at page boundaries.
std::optional<base::Bytes> count_window(const OpenFile& file, base::Bytes begin, base::Bytes length) {
  void* const mapping = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file.fd.get(), static_cast<off_t>(begin));
  if (mapping == MAP_FAILED) return std::nullopt;
  const base::ScopeExit unmap([&] { ::munmap(mapping, length); });
  std::vector<unsigned char> pages((length + page_size() - 1) / page_size());
  if (::mincore(mapping, length, pages.data()) != 0) return std::nullopt;
  const auto resident = std::ranges::count_if(pages, [](unsigned char page) { return (page & 1U) != 0; });
  return static_cast<base::Bytes>(resident) * page_size();
}

std::optional<base::Bytes> count_by_mincore(const OpenFile& file) {
  const auto end = file.range.offset + file.range.length;
  base::Bytes resident = 0;
  for (auto begin = file.range.offset / page_size() * page_size(); begin < end; begin += kMincoreWindow) {
    const auto counted = count_window(file, begin, std::min(kMincoreWindow, end - begin));
    if (!counted) return std::nullopt;
    resident += *counted;
  }
  return std::min(resident, file.range.length);
}

base::Status advise(const std::string& path, const OpenFile& file, const ByteRange& range, int advice) {
  const int error =
      ::posix_fadvise(file.fd.get(), static_cast<off_t>(range.offset), static_cast<off_t>(range.length), advice);
  if (error != 0) return base::fail_errno("advising the kernel about " + path, error);
  return {};
}

}  // namespace

std::string_view name_of(PageMechanism mechanism) {
  return mechanism == PageMechanism::cachestat ? "cachestat" : "mincore";
}

base::Result<Residency> LinuxPages::residency(const std::string& path, std::optional<ByteRange> range) const {
  const auto file = open_range(path, range);
  if (!file) return std::unexpected(file.error());
  const auto total = file->range.length;
  if (total == 0) return Residency{0, 0, preferred_};
  if (preferred_ == PageMechanism::cachestat) {
    if (const auto counted = count_by_cachestat(*file)) return Residency{*counted, total, PageMechanism::cachestat};
  }
  if (!mincore_tells_the_truth(*file, path)) {
    return base::fail(
        base::ErrorCode::unsupported,
        "counting the cached pages of " + path + ": without cachestat(2) the kernel tells it only to the file's owner");
  }
  if (const auto counted = count_by_mincore(*file)) return Residency{*counted, total, PageMechanism::mincore};
  return base::fail_errno("counting the cached pages of " + path, errno);
}

base::Status LinuxPages::drop(const std::string& path, std::optional<ByteRange> range) {
  const auto file = open_range(path, range);
  if (!file) return std::unexpected(file.error());
  if (file->range.length == 0) return {};  // a length of 0 would mean "to the end"
  return advise(path, *file, file->range, POSIX_FADV_DONTNEED);
}

base::Status LinuxPages::read_ahead(const std::string& path, std::optional<ByteRange> range) {
  const auto file = open_range(path, range);
  if (!file) return std::unexpected(file.error());
  const auto end = file->range.offset + file->range.length;
  for (auto begin = file->range.offset; begin < end; begin += kReadAheadPiece) {
    const ByteRange piece{begin, std::min(kReadAheadPiece, end - begin)};
    if (auto advised = advise(path, *file, piece, POSIX_FADV_WILLNEED); !advised) return advised;
  }
  return {};
}

}  // namespace hearth::sys
