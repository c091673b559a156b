#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

#ifndef MADV_COLD
#define MADV_COLD 20
#endif
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace hearth::tier::os {
namespace {

constexpr long kCachestat = 451;  // same number on every architecture; newer than our libc's headers
constexpr int kMlockOnFault = 1;

struct CachestatRange {
  std::uint64_t offset, length;
};
struct Cachestat {
  std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

/// Reads the start of a small text file; false when it cannot be read. NUL-terminated.
template <std::size_t N>
bool read_small_text(const char* path, char (&text)[N]) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = fd < 0 ? -1 : ::read(fd, text, N - 1);
  if (fd >= 0) ::close(fd);
  if (length < 0) return false;
  text[length] = '\0';
  return true;
}

std::uint64_t available_bytes() {
  char text[2048];
  const char* line = read_small_text("/proc/meminfo", text) ? ::strstr(text, "MemAvailable:") : nullptr;
  return line == nullptr ? kUnknown : ::strtoull(line + 13, nullptr, 10) * 1024;
}

/// The least limit of the control group and of those around it; kUnknown where there is none ("max" reads as none).
std::uint64_t group_limit(const char* root, const char* group, const char* file) {
  char path[4096];
  char text[64];
  std::uint64_t least = kUnknown;
  std::size_t length = ::strcspn(group, "\n");
  for (;;) {
    const int written = ::snprintf(path, sizeof path, "%s%.*s/%s", root, static_cast<int>(length), group, file);
    if (written > 0 && static_cast<std::size_t>(written) < sizeof path && read_small_text(path, text) &&
        text[0] >= '0' && text[0] <= '9') {
      const std::uint64_t limit = ::strtoull(text, nullptr, 10);
      if (limit < least) least = limit;
    }
    if (length == 0) return least;
    while (length > 0 && group[--length] != '/') {
    }
  }
}

/// Both versions may be mounted, each in one of two usual places.
std::uint64_t memory_limit() {
  char text[4096];
  if (!read_small_text("/proc/self/cgroup", text)) return kUnknown;
  std::uint64_t least = kUnknown;
  const auto take = [&least](std::uint64_t limit) { least = limit < least ? limit : least; };
  if (const char* one = ::strstr(text, ":memory:"); one != nullptr) {
    take(group_limit("/sys/fs/cgroup/memory", one + 8, "memory.limit_in_bytes"));
  }
  const char* two = ::strncmp(text, "0::", 3) == 0 ? text : ::strstr(text, "\n0::");
  if (two != nullptr) {
    two = ::strchr(two, '/');
    take(two == nullptr ? kUnknown : group_limit("/sys/fs/cgroup", two, "memory.max"));
    take(two == nullptr ? kUnknown : group_limit("/sys/fs/cgroup/unified", two, "memory.max"));
  }
  return least;
}

std::uint64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

int outcome(bool failed) { return failed ? errno : 0; }

/// Maps `bytes` at a multiple of kHugePage by asking for more and giving the edges back.
void* map_aligned(std::size_t bytes, int protection, int flags) {
  const std::size_t length = round_up(bytes, kPage);
  void* wide = ::mmap(nullptr, length + kHugePage, protection, flags, -1, 0);
  if (wide == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(wide);
  const std::uintptr_t aligned = round_up(begin, kHugePage);
  if (aligned > begin) ::munmap(wide, aligned - begin);
  const std::uintptr_t end = begin + length + kHugePage;
  if (end > aligned + length) ::munmap(reinterpret_cast<void*>(aligned + length), end - aligned - length);
  return reinterpret_cast<void*>(aligned);
}

int map_over(void* at, std::size_t bytes, int fd, std::uint64_t offset, int flags, int protection) {
  const ErrnoGuard guard;
  void* got = ::mmap(at, round_up(bytes, kPage), protection, flags | MAP_FIXED, fd, static_cast<off_t>(offset));
  return outcome(got == MAP_FAILED);
}

int advise(void* at, std::size_t bytes, int advice) {
  const ErrnoGuard guard;
  int failed = 0;
  do
    failed = ::madvise(at, round_up(bytes, kPage), advice);
  while (failed != 0 && (errno == EINTR || errno == EAGAIN));
  return outcome(failed != 0);
}

}  // namespace

ErrnoGuard::ErrnoGuard() : kept_(errno) {}
ErrnoGuard::~ErrnoGuard() { errno = kept_; }

bool pages_fit(long page_bytes) { return page_bytes == static_cast<long>(kPage); }
long page_bytes() { return ::sysconf(_SC_PAGESIZE); }

std::uint64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }
std::uint64_t unix_seconds() { return clock_ns(CLOCK_REALTIME) / 1'000'000'000U; }
std::uint32_t thread_id() { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }
std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

void* map_anonymous(std::size_t bytes) {
  const ErrnoGuard guard;
  return map_aligned(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
}

int map_shared_over(void* at, std::size_t bytes, int fd, std::uint64_t offset) {
  return map_over(at, bytes, fd, offset, MAP_SHARED, PROT_READ | PROT_WRITE);
}

int map_private_over(void* at, std::size_t bytes, int fd, std::uint64_t offset) {
  return map_over(at, bytes, fd, offset, MAP_PRIVATE | MAP_NORESERVE, PROT_READ | PROT_WRITE);
}

int map_read_over(void* at, std::size_t bytes, int fd, std::uint64_t offset) {
  return map_over(at, bytes, fd, offset, MAP_PRIVATE | MAP_NORESERVE, PROT_READ);
}

void* map_read(std::size_t bytes, int fd, std::uint64_t offset) {
  const ErrnoGuard guard;
  void* place = map_aligned(bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  if (place == nullptr) return nullptr;
  if (map_read_over(place, bytes, fd, offset) == 0) return place;
  unmap(place, bytes);
  return nullptr;
}

int move_mapping(void* from, std::size_t bytes, void* to) {
  const ErrnoGuard guard;
  const std::size_t length = round_up(bytes, kPage);
  return outcome(::mremap(from, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED);
}

void unmap(void* at, std::size_t bytes) {
  const ErrnoGuard guard;
  ::munmap(at, round_up(bytes, kPage));
}

int protect_read(void* at, std::size_t bytes) {
  const ErrnoGuard guard;
  return outcome(::mprotect(at, round_up(bytes, kPage), PROT_READ) != 0);
}

int allow_write(void* at, std::size_t bytes) {
  const ErrnoGuard guard;
  return outcome(::mprotect(at, round_up(bytes, kPage), PROT_READ | PROT_WRITE) != 0);
}

int reserve(int fd, std::uint64_t offset, std::uint64_t bytes) {
  const ErrnoGuard guard;
  int failed = 0;
  do
    failed = ::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  while (failed != 0 && errno == EINTR);
  return outcome(failed != 0);
}

int read_all(int fd, void* to, std::size_t bytes, std::uint64_t offset) {
  const ErrnoGuard guard;
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::pread(fd, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return EIO;
    at += got;
    bytes -= static_cast<std::size_t>(got);
    offset += static_cast<std::uint64_t>(got);
  }
  return 0;
}

int write_all(int fd, const void* from, std::size_t bytes, std::uint64_t offset) {
  const ErrnoGuard guard;
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t got = ::pwrite(fd, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    at += got;
    bytes -= static_cast<std::size_t>(got);
    offset += static_cast<std::uint64_t>(got);
  }
  return 0;
}

std::uint64_t cached_bytes(int fd, std::uint64_t offset, std::uint64_t bytes) {
  const ErrnoGuard guard;
  CachestatRange range{offset, bytes};
  Cachestat stat{};
  if (fd < 0 || ::syscall(kCachestat, fd, &range, &stat, 0) != 0) return kUnknown;
  return stat.cached * kPage;
}

std::uint64_t resident_bytes(const void* at, std::size_t bytes) {
  const ErrnoGuard guard;
  constexpr std::size_t kBatch = 16384;  // pages a call
  unsigned char present[kBatch];
  std::uint64_t pages = 0;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const std::size_t total = round_up(bytes, kPage) / kPage;
  for (std::size_t done = 0; done < total; done += kBatch) {
    const std::size_t count = total - done < kBatch ? total - done : kBatch;
    if (::mincore(reinterpret_cast<void*>(begin + done * kPage), count * kPage, present) != 0) return kUnknown;
    for (std::size_t i = 0; i < count; ++i)
      pages += present[i] & 1U;
  }
  return pages * kPage;
}

void prefer_huge(void* at, std::size_t bytes) { (void)advise(at, bytes, MADV_HUGEPAGE); }

void read_ahead(void* at, std::size_t bytes) { (void)advise(at, bytes, MADV_WILLNEED); }

void read_ahead_file(int fd, std::uint64_t offset, std::uint64_t bytes) {
  (void)::posix_fadvise(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

void read_singly(void* at, std::size_t bytes) { (void)advise(at, bytes, MADV_RANDOM); }

int write_back(int fd, std::uint64_t offset, std::uint64_t bytes) {
  const ErrnoGuard guard;
  constexpr unsigned kAll = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  return outcome(::sync_file_range(fd, static_cast<off64_t>(offset), static_cast<off64_t>(bytes), kAll) != 0);
}

void unmap_pages(void* at, std::size_t bytes) { (void)advise(at, bytes, MADV_DONTNEED); }

int make_cold(void* at, std::size_t bytes) { return advise(at, bytes, MADV_COLD); }

int page_out(void* at, std::size_t bytes) { return advise(at, bytes, MADV_PAGEOUT); }

int drop_cache(int fd) { return ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); }

int populate(void* at, std::size_t bytes) { return advise(at, bytes, MADV_POPULATE_READ); }

int lock(void* at, std::size_t bytes, bool on_fault) {
  const ErrnoGuard guard;
  return outcome(::syscall(SYS_mlock2, at, round_up(bytes, kPage), on_fault ? kMlockOnFault : 0) != 0);
}

int unlock(void* at, std::size_t bytes) {
  const ErrnoGuard guard;
  return outcome(::munlock(at, round_up(bytes, kPage)) != 0);
}

// A partition has no queue of its own: its disk's is one folder up.
unsigned good_readers(int fd) {
  constexpr unsigned kFew = 1;
  constexpr unsigned kMany = 4;  // more brought nothing on the devices measured, fewer left them idle
  const ErrnoGuard guard;
  struct stat status {};
  if (::fstat(fd, &status) != 0) return kMany;
  for (const char* queue : {"queue", "../queue"}) {
    char path[96];
    char text[8];
    ::snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%s/rotational", major(status.st_dev), minor(status.st_dev),
               queue);
    if (read_small_text(path, text)) return text[0] == '1' ? kFew : kMany;
  }
  return kMany;
}

bool has_room(std::uint64_t bytes) {
  const ErrnoGuard guard;
  return available_bytes() / 3 * 2 >= bytes && memory_limit() / 2 >= bytes;
}

std::uint64_t memlock_limit() {
  const ErrnoGuard guard;
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

std::uint64_t locked_bytes() {
  const ErrnoGuard guard;
  char text[4096];
  const int fd = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  const ssize_t length = fd < 0 ? -1 : ::read(fd, text, sizeof text - 1);
  if (fd >= 0) ::close(fd);
  if (length <= 0) return kUnknown;
  text[length] = '\0';
  const char* line = ::strstr(text, "VmLck:");
  return line == nullptr ? kUnknown : ::strtoull(line + 6, nullptr, 10) * 1024;
}

int start_thread(pthread_t* thread, void* (*run)(void*), void* argument) {
  sigset_t all;
  sigset_t kept;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &kept);
  const int failed = ::pthread_create(thread, nullptr, run, argument);
  ::pthread_sigmask(SIG_SETMASK, &kept, nullptr);
  return failed;
}

}  // namespace hearth::tier::os
