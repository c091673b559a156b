#include "reads.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "checksum.h"

namespace hearth::tier {
namespace {

constinit Reads the_reads;
constexpr char kMagic[8] = {'H', 'R', 'T', 'H', 'R', 'E', 'A', 'D'};
constexpr std::uint64_t kGap = 64u << 10;        // extents closer than this are one
constexpr std::uint64_t kCopied = 1u << 20;      // longer extents are mapped, not copied
constexpr std::uint64_t kMappedStep = 4u << 20;  // bytes per populate call

std::uint32_t sum_of(const ReadsHeader& header) { return checksum(&header, offsetof(ReadsHeader, header_sum)); }

}  // namespace

Reads& reads() { return the_reads; }

void join_reads(PageVector<ReadExtent>& extents, std::uint64_t model_bytes) {
  std::sort(extents.begin(), extents.end(),
            [](const ReadExtent& a, const ReadExtent& b) { return a.offset < b.offset; });
  std::size_t kept = 0;
  for (const ReadExtent& extent : extents) {
    const std::uint64_t begin = extent.offset / os::kPage * os::kPage;
    const std::uint64_t end = std::min(os::round_up(extent.offset + extent.bytes, os::kPage), model_bytes);
    if (begin >= end) continue;
    if (kept > 0 && begin <= extents[kept - 1].offset + extents[kept - 1].bytes + kGap) {
      ReadExtent& last = extents[kept - 1];
      last.bytes = std::max(last.offset + last.bytes, end) - last.offset;
    } else {
      extents[kept++] = {begin, end - begin};
    }
  }
  (void)extents.resize(kept);  // only ever shrinks
}

bool check_reads(const ReadsHeader& header, const ReadExtent* extents, std::uint64_t file_bytes,
                 std::uint64_t model_bytes) {
  if (::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.version != kReadsVersion) return false;
  if (header.header_sum != sum_of(header) || header.model_bytes != model_bytes) return false;
  if (header.count == 0 || header.count > kMaxReads) return false;
  if (file_bytes != sizeof header + header.count * sizeof(ReadExtent)) return false;
  if (header.entries_sum != checksum(extents, header.count * sizeof(ReadExtent))) return false;
  for (std::uint32_t i = 0; i < header.count; ++i) {
    if (extents[i].offset >= model_bytes || extents[i].bytes > model_bytes - extents[i].offset) return false;
  }
  return true;
}

bool Reads::open(const char* model, int folder) {
  const os::ErrnoGuard guard;
  model_ = ::open(model, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (model_ < 0 || ::fstat(model_, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  (void)::posix_fadvise(model_, 0, 0, POSIX_FADV_RANDOM);  // our reads take only what they ask for
  identity_ = {status.st_dev, status.st_ino, 0};
  model_bytes_ = static_cast<std::uint64_t>(status.st_size);
  folder_ = folder;
  learning_ = true;
  const int fd = ::openat(folder_, kReadsName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  ReadsHeader header{};
  const bool regular = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
  bool good = regular && os::read_all(fd, &header, sizeof header, 0) == 0 && header.count <= kMaxReads &&
              known_.resize(header.count) &&
              os::read_all(fd, known_.data(), known_.size() * sizeof(ReadExtent), sizeof header) == 0;
  good = good && check_reads(header, known_.data(), static_cast<std::uint64_t>(status.st_size), model_bytes_);
  ::close(fd);
  learning_ = !good;
  if (!good) known_.reset();
  return good;
}

void Reads::begin() {
  pthread_t thread{};
  if (known_.empty() || os::start_thread(&thread, read_thread, this) != 0) return;
  ::pthread_detach(thread);
}

void* Reads::read_thread(void* argument) {
  auto* self = static_cast<Reads*>(argument);
  for (const ReadExtent& extent : self->known_)
    self->read_extent(extent);
  return nullptr;
}

// What is in memory already is not read again: the copy of a short extent costs microseconds, a mapping nothing.
void Reads::read_extent(const ReadExtent& extent) {
  char sink[16384];
  if (extent.bytes < kCopied) {
    for (std::uint64_t done = 0; done < extent.bytes; done += sizeof sink) {
      const std::size_t part = std::min<std::uint64_t>(sizeof sink, extent.bytes - done);
      if (os::read_all(model_, sink, part, extent.offset + done) != 0) return;  // the engine will report it
    }
    return;
  }
  void* at = os::map_read(extent.bytes, model_, extent.offset);
  for (std::uint64_t done = 0; at != nullptr && done < extent.bytes; done += kMappedStep) {
    const std::uint64_t part = std::min(kMappedStep, extent.bytes - done);
    if (os::populate(static_cast<char*>(at) + done, part) != 0) break;
  }
  if (at != nullptr) os::unmap(at, extent.bytes);
}

void Reads::learn(const void* at, std::size_t bytes) {
  EngineMaps::Place place{};
  if (model_ < 0 || bytes == 0 || !engine_maps().locate(at, place)) return;
  if (place.inode != identity_.inode || place.device != identity_.device) return;
  const os::Guard guard(mutex_);
  if (learning_ && learnt_.size() < kMaxReads) (void)learnt_.push({place.offset, bytes});
}

void Reads::keep() {
  const os::ErrnoGuard errno_guard;
  const os::Guard guard(mutex_);
  if (!learning_ || learnt_.empty()) return;
  learning_ = false;
  std::uint64_t first = model_bytes_;
  for (const ReadExtent& extent : learnt_)
    first = std::min(first, extent.offset);
  if (first > 0 && !learnt_.push({0, first})) return;
  join_reads(learnt_, model_bytes_);
  ReadsHeader header{};
  ::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kReadsVersion;
  header.count = static_cast<std::uint32_t>(learnt_.size());
  header.model_bytes = model_bytes_;
  header.entries_sum = checksum(learnt_.data(), learnt_.size() * sizeof(ReadExtent));
  header.header_sum = sum_of(header);
  char name[48];
  ::snprintf(name, sizeof name, ".reads.%d.tmp", static_cast<int>(::getpid()));
  const int fd = ::openat(folder_, name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;  // it is learnt again at the next start
  const bool good = os::write_all(fd, &header, sizeof header, 0) == 0 &&
                    os::write_all(fd, learnt_.data(), learnt_.size() * sizeof(ReadExtent), sizeof header) == 0 &&
                    ::fsync(fd) == 0;
  ::close(fd);
  if (!good || ::renameat(folder_, name, folder_, kReadsName) != 0) ::unlinkat(folder_, name, 0);
  learnt_.reset();
}

}  // namespace hearth::tier
