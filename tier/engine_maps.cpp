#include "engine_maps.h"

#include <sys/mman.h>
#include <sys/stat.h>

namespace hearth::tier {
namespace {

constinit EngineMaps the_maps;

}  // namespace

EngineMaps& engine_maps() { return the_maps; }

void EngineMaps::add(const void* at, std::size_t bytes, int fd, std::uint64_t offset, bool spared) {
  const os::ErrnoGuard errno_guard;
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const os::Guard guard(mutex_);
  Mapping* free = nullptr;
  for (Mapping& mapping : mappings_) {
    // The kernel gave this place away, so what was here before is gone.
    if (mapping.bytes != 0 && mapping.at < begin + bytes && begin < mapping.at + mapping.bytes) mapping.bytes = 0;
    if (mapping.bytes == 0 && free == nullptr) free = &mapping;
  }
  if (free != nullptr) *free = {begin, bytes, {status.st_dev, status.st_ino, offset}, spared};
}

const EngineMaps::Mapping* EngineMaps::find(const void* at) const {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  for (const Mapping& mapping : mappings_) {
    if (address >= mapping.at && address - mapping.at < mapping.bytes) return &mapping;
  }
  return nullptr;
}

bool EngineMaps::spared(const void* at) const {
  const os::Guard guard(mutex_);
  const Mapping* mapping = find(at);
  return mapping != nullptr && mapping->spared;
}

bool EngineMaps::locate(const void* at, Place& out) const {
  const os::Guard guard(mutex_);
  const Mapping* mapping = find(at);
  if (mapping == nullptr) return false;
  out = mapping->place;
  out.offset += reinterpret_cast<std::uintptr_t>(at) - mapping->at;
  return true;
}

void EngineMaps::read_ahead() {
  sparing_.store(false, std::memory_order_release);
  const os::Guard guard(mutex_);
  for (Mapping& mapping : mappings_) {
    if (mapping.bytes != 0 && mapping.spared) os::read_ahead(reinterpret_cast<void*>(mapping.at), mapping.bytes);
    mapping.spared = false;
  }
}

}  // namespace hearth::tier
