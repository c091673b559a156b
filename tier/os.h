// Everything the library needs from the kernel, as small functions with a contract each. No state. Every function
// returns 0 or errno unless it says otherwise, may be called from any thread, and leaves the caller's errno untouched.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace hearth::tier::os {

inline constexpr std::size_t kPage = 4096;         // what ranges are rounded to; see pages_fit()
inline constexpr std::size_t kHugePage = 2 << 20;  // alignment of large buffers
inline constexpr std::uint64_t kUnknown = UINT64_MAX;

/// Restores errno at scope end: a guest does not change what its host sees.
class ErrnoGuard {
 public:
  ErrnoGuard();
  ~ErrnoGuard();
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  int kept_;
};

/// A plain mutex, constant-initialised so that it works before constructors run.
class Mutex {
 public:
  constexpr Mutex() = default;
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  pthread_mutex_t* raw() { return &mutex_; }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class Guard {
 public:
  explicit Guard(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Guard() { mutex_.unlock(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  Mutex& mutex_;
};

/// True when pages of the kernel have the size that ranges are rounded to. Elsewhere its calls refuse most ranges, and
/// what is counted in pages means something else: weights are better left alone.
[[nodiscard]] bool pages_fit(long page_bytes);
[[nodiscard]] long page_bytes();  // of the kernel

[[nodiscard]] std::uint64_t now_ns();        // CLOCK_MONOTONIC
[[nodiscard]] std::uint64_t unix_seconds();  // for people only
[[nodiscard]] std::uint32_t thread_id();
[[nodiscard]] std::size_t round_up(std::size_t bytes, std::size_t unit);

/// Zeroed private memory at a multiple of kHugePage; nullptr when the kernel refuses.
[[nodiscard]] void* map_anonymous(std::size_t bytes);
/// Replaces [at, at+bytes) by the file's bytes, shared and writable. Atomic: the old pages stay on failure.
[[nodiscard]] int map_shared_over(void* at, std::size_t bytes, int fd, std::uint64_t offset);
/// The same, private and writable.
[[nodiscard]] int map_private_over(void* at, std::size_t bytes, int fd, std::uint64_t offset);
/// The same, private and only to be read.
[[nodiscard]] int map_read_over(void* at, std::size_t bytes, int fd, std::uint64_t offset);
/// Private mapping at a multiple of kHugePage, only to be read; nullptr on failure. Where the kernel commits no more
/// memory than there is, it counts only from allow_write() on.
[[nodiscard]] void* map_read(std::size_t bytes, int fd, std::uint64_t offset);
/// Moves a mapping with its page tables onto `to`, replacing what is there.
[[nodiscard]] int move_mapping(void* from, std::size_t bytes, void* to);
void unmap(void* at, std::size_t bytes);
[[nodiscard]] int protect_read(void* at, std::size_t bytes);
[[nodiscard]] int allow_write(void* at, std::size_t bytes);

/// Reserves disk blocks for the range; EOPNOTSUPP where the file system cannot.
[[nodiscard]] int reserve(int fd, std::uint64_t offset, std::uint64_t bytes);
[[nodiscard]] int read_all(int fd, void* to, std::size_t bytes, std::uint64_t offset);
[[nodiscard]] int write_all(int fd, const void* from, std::size_t bytes, std::uint64_t offset);

/// Bytes of the range that are in the page cache; kUnknown without cachestat(2) or permission.
[[nodiscard]] std::uint64_t cached_bytes(int fd, std::uint64_t offset, std::uint64_t bytes);
/// Bytes of the mapped range that are in memory by mincore(2); kUnknown when refused. For files this counts the page
/// cache.
[[nodiscard]] std::uint64_t resident_bytes(const void* at, std::size_t bytes);

/// Asks for large pages: faults read and map 2 MiB at once where file system and alignment allow. Advice only.
void prefer_huge(void* at, std::size_t bytes);

/// Asks for the range to be read ahead; returns before it is there. Advice only.
void read_ahead(void* at, std::size_t bytes);
/// The same for a range of a file; exactly its pages where the file is advised POSIX_FADV_RANDOM.
void read_ahead_file(int fd, std::uint64_t offset, std::uint64_t bytes);
/// Page faults in the range read one page each instead of a window around it. Advice only.
void read_singly(void* at, std::size_t bytes);

/// Writes dirty pages of the range to the file's device and waits; 0 bytes: to its end. What is not written cannot
/// leave the page cache, and what could not be written may leave it and be lost.
[[nodiscard]] int write_back(int fd, std::uint64_t offset, std::uint64_t bytes);
/// Takes pages of a shared file mapping out of this process; the page cache keeps them. Locked ones stay. Advice only.
void unmap_pages(void* at, std::size_t bytes);

/// Readers that keep the file's device busy: one head cannot be in two places; others want several requests at once.
[[nodiscard]] unsigned good_readers(int fd);

/// True when so many bytes more of anonymous memory fit well: the machine has half as much again available, and every
/// memory control group around this process allows twice as much.
[[nodiscard]] bool has_room(std::uint64_t bytes);

/// Reclaims the range now (MADV_PAGEOUT). Pages other processes map, and private copies without swap, stay.
[[nodiscard]] int page_out(void* at, std::size_t bytes);
/// Marks the range as the first to be reclaimed (MADV_COLD); nothing leaves now.
[[nodiscard]] int make_cold(void* at, std::size_t bytes);
/// Drops clean cached pages of the whole file that nobody maps.
[[nodiscard]] int drop_cache(int fd);
/// Brings the range in and maps it (MADV_POPULATE_READ); reports I/O errors instead of raising SIGBUS.
[[nodiscard]] int populate(void* at, std::size_t bytes);
/// mlock2; `on_fault` locks pages as they come in.
[[nodiscard]] int lock(void* at, std::size_t bytes, bool on_fault);
[[nodiscard]] int unlock(void* at, std::size_t bytes);
[[nodiscard]] std::uint64_t memlock_limit();
/// Bytes this process has locked (VmLck); kUnknown when the kernel does not say.
[[nodiscard]] std::uint64_t locked_bytes();

/// Starts a thread with all signals blocked, so that the engine's own threads go on receiving them.
[[nodiscard]] int start_thread(pthread_t* thread, void* (*run)(void*), void* argument);

}  // namespace hearth::tier::os
