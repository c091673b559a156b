#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "channel.h"
#include "checksum.h"

namespace hearth::tier {
namespace {

constexpr std::uint64_t kChunksAStep = 4;     // populate and check so many chunks at once
constexpr std::uint64_t kSampleSteps = 4;     // steps read in sample mode
constexpr std::uint64_t kProbeBytes = 65536;  // size of the file that tries the file system out

struct Name {
  char text[48];
};

Name published_name(std::uint32_t ordinal) {
  Name name;
  ::snprintf(name.text, sizeof name.text, "%u.seg", ordinal);
  return name;
}

Name bad_name(std::uint32_t ordinal) {
  Name name;
  ::snprintf(name.text, sizeof name.text, "%u.seg.bad", ordinal);
  return name;
}

/// Holds the folder's lock while names change.
class FolderLock {
 public:
  explicit FolderLock(int folder) : fd_(::openat(folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    while (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  [[nodiscard]] bool held() const { return fd_ >= 0; }

 private:
  int fd_;
};

bool ours_alone(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// rename(2) that refuses to replace; the caller holds the folder's lock.
int rename_to_free(int folder, const char* from, const char* to) {
  if (::faccessat(folder, to, F_OK, AT_SYMLINK_NOFOLLOW) != 0) return ::renameat(folder, from, folder, to);
  errno = EEXIST;
  return -1;
}

/// Makes every missing part of `path` (which is changed and restored) private to us.
void make_folders(char* path) {
  for (char* at = path + 1; *at != '\0'; ++at) {
    if (*at != '/') continue;
    *at = '\0';
    ::mkdir(path, 0700);
    *at = '/';
  }
  ::mkdir(path, 0700);
}

Reason open_folder(const Settings& settings, int& folder) {
  char path[sizeof settings.directory + sizeof settings.key + 1];
  if (settings.directory[0] == '\0') return Reason::kNoDirectory;
  if (settings.key[0] == '\0') return Reason::kBadKey;
  ::snprintf(path, sizeof path, "%s/%s", settings.directory, settings.key);
  make_folders(path);
  folder = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (folder < 0) return Reason::kNoDirectory;
  struct stat status {};
  if (::fstat(folder, &status) != 0 || !ours_alone(status)) return Reason::kUnsafeDirectory;
  return Reason::kNone;
}

Reason reserve_reason(int error) {
  if (error == 0) return Reason::kNone;
  return error == EOPNOTSUPP || error == ENOSYS ? Reason::kNoReserve : Reason::kNoSpace;
}

Reason open_reason(int error) {
  if (error == ENOENT) return Reason::kAbsent;
  const bool short_of_something = error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR;
  return short_of_something ? Reason::kKernel : Reason::kForeign;
}

/// Another start would find the same.
bool lies_in_file(Reason reason) {
  switch (reason) {
    case Reason::kNone:
    case Reason::kAbsent:
    case Reason::kKernel:
    case Reason::kNoThread:
    case Reason::kNoSharedMapping:
      return false;
    default:
      return true;
  }
}

}  // namespace

Reason Store::open(const Settings& settings) {
  const os::ErrnoGuard guard;
  if (!kByteOrderFits) return Reason::kByteOrder;
  const Reason reason = open_folder(settings, folder_);
  if (reason != Reason::kNone) return reason;
  copy_text(key_, sizeof key_, settings.key);
  mode_ = settings.check;
  // Checking is work for the processor as well, which the engine needs at its start: two are enough.
  readers_ = settings.readers != 0 ? settings.readers : std::min(2U, os::good_readers(folder_));
  quota_ = settings.quota;
  remove_leftovers();
  const Reason probed = probe();
  usable_ = probed == Reason::kNone;
  return probed;
}

// Some file systems (and some sandboxes) refuse one of these; better to know before a buffer depends on it.
Reason Store::probe() {
  NewFile file;
  if (make_file(UINT32_MAX, file) != 0) return Reason::kNoDirectory;
  const int reserved = os::reserve(file.fd, 0, kProbeBytes);
  Reason reason = reserve_reason(reserved);
  if (reason == Reason::kNone) {
    void* at = ::mmap(nullptr, kProbeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    if (at == MAP_FAILED)
      reason = Reason::kNoSharedMapping;
    else
      ::munmap(at, kProbeBytes);
  }
  discard(file);
  return reason;
}

int Store::make_file(std::uint32_t ordinal, NewFile& out) {
  out.name[0] = '\0';
  out.fd = ::openat(folder_, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (out.fd >= 0) return 0;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL) return errno;
  ::snprintf(out.name, sizeof out.name, ".%u.%d.tmp", ordinal, static_cast<int>(::getpid()));
  out.fd = ::openat(folder_, out.name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (out.fd < 0) return errno;
  ::flock(out.fd, LOCK_EX | LOCK_NB);
  return 0;
}

void Store::discard(NewFile& file) {
  const os::ErrnoGuard guard;
  if (file.name[0] != '\0') ::unlinkat(folder_, file.name, 0);
  if (file.fd >= 0) ::close(file.fd);
  file = NewFile{};
}

void Store::remove_leftovers() {
  const int copy = ::openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listing = copy < 0 ? nullptr : ::fdopendir(copy);
  if (listing == nullptr) return;
  while (const dirent* entry = ::readdir(listing)) {
    const std::size_t length = ::strlen(entry->d_name);
    if (entry->d_name[0] != '.' || length < 5 || ::strcmp(entry->d_name + length - 4, ".tmp") != 0) continue;
    const int fd = ::openat(folder_, entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0) ::unlinkat(folder_, entry->d_name, 0);
    if (fd >= 0) ::close(fd);
  }
  ::closedir(listing);
}

Reason Store::create(std::uint32_t ordinal, std::uint64_t bytes, NewFile& out, int& error) {
  const os::ErrnoGuard guard;
  error = make_file(ordinal, out);
  if (error != 0) return Reason::kIo;
  error = os::reserve(out.fd, kDataOffset, os::round_up(bytes, os::kPage));
  if (error == 0) return Reason::kNone;
  discard(out);
  return reserve_reason(error);
}

Reason Store::load_tables(Check& check) {
  PackedFile& file = check.file;
  if (!file.manifest.resize(check.header.tensor_count) || !check.sums.resize(check.header.chunk_count)) {
    return Reason::kKernel;
  }
  const std::size_t manifest_bytes = file.manifest.size() * sizeof(ManifestEntry);
  const std::size_t sums_bytes = check.sums.size() * sizeof(std::uint32_t);
  if (os::read_all(file.fd, file.manifest.data(), manifest_bytes, check.header.manifest_offset) != 0)
    return Reason::kIo;
  if (os::read_all(file.fd, check.sums.data(), sums_bytes, check.header.sums_offset) != 0) return Reason::kIo;
  return check_tables(check.header, file.manifest.data(), check.sums.data());
}

Reason Store::load(Check& check, std::uint32_t ordinal) {
  PackedFile& file = check.file;
  file.fd = ::openat(folder_, published_name(ordinal).text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file.fd < 0) return open_reason(errno);
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) return Reason::kIo;
  if (!S_ISREG(status.st_mode) || !ours_alone(status) || status.st_nlink != 1) return Reason::kForeign;
  if (status.st_size < static_cast<off_t>(sizeof check.header)) return Reason::kShort;
  if (os::read_all(file.fd, &check.header, sizeof check.header, 0) != 0) return Reason::kIo;
  const Reason header = check_header(check.header, static_cast<std::uint64_t>(status.st_size), {key_, ordinal});
  if (header != Reason::kNone) return header;
  const Reason tables = load_tables(check);
  if (tables != Reason::kNone) return tables;
  file.bytes = check.header.data_bytes;
  file.data = os::map_read(file.bytes, file.fd, kDataOffset);
  if (file.data == nullptr) return Reason::kNoSharedMapping;
  os::prefer_huge(file.data, file.bytes);
  return Reason::kNone;
}

void Store::begin_checks() {
  const os::ErrnoGuard guard;
  if (!usable_) return;
  for (std::uint32_t ordinal = 0; ordinal < kChecked; ++ordinal)
    start_check(checks_[ordinal], ordinal, readers_);
}

bool Store::expects_packed() {
  const os::Guard guard(mutex_);
  return checks_[0].state != Check::State::kUnused && checks_[0].reason == Reason::kNone;
}

void Store::start_check(Check& check, std::uint32_t ordinal, unsigned threads) {
  check.store = this;
  check.begin_ns = os::now_ns();
  check.next.store(0);
  check.read.store(0);
  const Reason reason = load(check, ordinal);
  const os::Guard guard(mutex_);
  check.reason = reason;
  check.state = Check::State::kDone;
  if (reason != Reason::kNone || mode_ == CheckMode::kNone) return;
  for (unsigned i = 0; i < threads; ++i) {
    pthread_t thread{};
    if (os::start_thread(&thread, check_thread, &check) != 0) break;
    ::pthread_detach(thread);
    ++check.running;
  }
  if (check.running > 0)
    check.state = Check::State::kRunning;
  else
    check.reason = Reason::kNoThread;
}

void* Store::check_thread(void* argument) {
  auto* check = static_cast<Check*>(argument);
  check->store->check_chunks(*check);
  return nullptr;
}

void Store::check_chunks(Check& check) {
  const std::uint64_t chunks = check.header.chunk_count;
  const std::uint64_t steps = (chunks + kChunksAStep - 1) / kChunksAStep;
  const std::uint64_t wanted = mode_ == CheckMode::kAll || steps < kSampleSteps ? steps : kSampleSteps;
  const std::uint64_t stride = steps / wanted;
  const std::uint64_t shift = check.begin_ns % stride;  // another sample at every start
  auto* data = static_cast<unsigned char*>(check.file.data);
  Reason reason = Reason::kNone;
  for (std::uint64_t step = check.next++; step < wanted && reason == Reason::kNone; step = check.next++) {
    const std::uint64_t first = (step * stride + shift) * kChunksAStep;
    const std::uint64_t last = first + kChunksAStep < chunks ? first + kChunksAStep : chunks;
    const std::uint64_t begin = first * kChunkBytes;
    const std::uint64_t end = last * kChunkBytes < check.file.bytes ? last * kChunkBytes : check.file.bytes;
    if (os::populate(data + begin, end - begin) == EFAULT) reason = Reason::kIo;
    for (std::uint64_t i = first; i < last && reason == Reason::kNone; ++i) {
      if (!chunk_matches(check.header, check.sums.data(), i, data)) reason = Reason::kBadChunk;
    }
    check.read += end - begin;
  }
  finish_check(check, reason);
}

void Store::finish_check(Check& check, Reason reason) {
  const os::Guard guard(mutex_);
  if (reason != Reason::kNone) {
    check.reason = reason;
    check.next.store(UINT64_MAX / 2);
  }
  if (--check.running > 0) return;
  check.state = Check::State::kDone;
  ::pthread_cond_broadcast(&done_);
  channel().event(EventKind::kVerified, check.reason, check.header.ordinal, check.read.load(), 0,
                  os::now_ns() - check.begin_ns);
}

void Store::wait_for(Check& check) {
  const os::Guard guard(mutex_);
  while (check.state == Check::State::kRunning)
    ::pthread_cond_wait(&done_, mutex_.raw());
}

void Store::forget(Check& check) {
  if (check.file.data != nullptr) os::unmap(check.file.data, check.file.bytes);
  if (check.file.fd >= 0) ::close(check.file.fd);
  check.file.data = nullptr;
  check.file.fd = -1;
  check.file.manifest.reset();
  check.sums.reset();
  check.state = Check::State::kUnused;
}

Reason Store::take(std::uint32_t ordinal, std::uint64_t bytes, const char* buffer_type, std::uint64_t engine,
                   PackedFile& out) {
  const os::ErrnoGuard guard;
  if (!usable_ || ordinal >= kChecked) return Reason::kAbsent;
  Check& check = checks_[ordinal];
  if (check.state == Check::State::kUnused) start_check(check, ordinal, readers_);
  wait_for(check);
  Reason reason = check.reason;
  if (reason == Reason::kNone && check.header.engine != engine) reason = Reason::kOtherEngine;
  if (reason == Reason::kNone && (check.file.bytes != bytes || ::strcmp(check.header.buffer_type, buffer_type) != 0)) {
    reason = Reason::kOtherSize;
  }
  if (reason == Reason::kNone) {
    out.fd = check.file.fd;
    out.data = check.file.data;
    out.bytes = check.file.bytes;
    out.manifest.swap(check.file.manifest);
    check.file.fd = -1;
    check.file.data = nullptr;
  }
  forget(check);
  if (lies_in_file(reason)) set_aside(ordinal, reason);
  return reason;
}

void Store::set_aside(std::uint32_t ordinal, Reason reason) {
  const os::ErrnoGuard guard;
  const FolderLock lock(folder_);
  const int failed = ::renameat(folder_, published_name(ordinal).text, folder_, bad_name(ordinal).text);
  channel().event(EventKind::kSetAside, reason, ordinal, 0, 0, 0, failed != 0 ? errno : 0, bad_name(ordinal).text);
}

Reason Store::write_tables(const NewFile& file, const Finished& finished, int& error) {
  FileHeader header{};
  PageVector<std::uint32_t> sums;
  lay_out(header, finished.bytes, static_cast<std::uint32_t>(finished.manifest->size()));
  if (!sums.resize(header.chunk_count)) return Reason::kKernel;
  const auto* data = static_cast<const unsigned char*>(finished.data);
  for (std::uint64_t i = 0; i < header.chunk_count && !finished.stop->load(); ++i) {
    sums[i] = checksum(data + i * kChunkBytes, chunk_length(finished.bytes, i));
  }
  header.ordinal = finished.ordinal;
  header.engine = finished.engine;
  header.created = os::unix_seconds();
  copy_text(header.key, sizeof header.key, key_);
  copy_text(header.buffer_type, sizeof header.buffer_type, finished.buffer_type);
  const std::size_t manifest_bytes = finished.manifest->size() * sizeof(ManifestEntry);
  const std::size_t sums_bytes = sums.size() * sizeof(std::uint32_t);
  header.manifest_sum = checksum(finished.manifest->data(), manifest_bytes);
  header.sums_sum = checksum(sums.data(), sums_bytes);
  seal(header);
  error = os::write_all(file.fd, finished.manifest->data(), manifest_bytes, header.manifest_offset);
  if (error == 0) error = os::write_all(file.fd, sums.data(), sums_bytes, header.sums_offset);
  if (error == 0) error = os::write_all(file.fd, &header, sizeof header, 0);
  if (error == 0 && ::fsync(file.fd) != 0) error = errno;
  sums.reset();
  return error == 0 ? Reason::kNone : Reason::kIo;
}

Reason Store::name_file(NewFile& file, std::uint32_t ordinal, int& error) {
  const FolderLock lock(folder_);
  if (!lock.held()) return Reason::kUnsafeDirectory;
  const Name name = published_name(ordinal);
  char self[64];
  ::snprintf(self, sizeof self, "/proc/self/fd/%d", file.fd);
  const bool nameless = file.name[0] == '\0';
  const int failed = nameless ? ::linkat(AT_FDCWD, self, folder_, name.text, AT_SYMLINK_FOLLOW)
                              : rename_to_free(folder_, file.name, name.text);
  error = failed != 0 ? errno : 0;
  if (failed != 0 && !nameless) ::unlinkat(folder_, file.name, 0);
  file.name[0] = '\0';
  if (error == EEXIST) return Reason::kLost;
  if (error == 0 && ::fsync(folder_) != 0) error = errno;
  return error == 0 ? Reason::kNone : Reason::kIo;
}

Reason Store::publish(NewFile& file, const Finished& finished, int& error) {
  const os::ErrnoGuard guard;
  error = 0;
  if (finished.ordinal >= kChecked) return Reason::kTooMany;
  if (finished.manifest->empty() || finished.manifest->size() > kMaxTensors) return Reason::kIncomplete;
  const std::uint64_t bytes = file_bytes(finished.bytes, finished.manifest->size());
  if (published_.load() + bytes > quota_) return Reason::kNoSpace;
  const Reason written = write_tables(file, finished, error);
  if (written != Reason::kNone) return written;
  if (finished.stop->load()) return Reason::kCancelled;
  const Reason named = name_file(file, finished.ordinal, error);
  if (named == Reason::kNone) published_ += bytes;
  return named;
}

}  // namespace hearth::tier
