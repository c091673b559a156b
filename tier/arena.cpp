#include "arena.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "channel.h"
#include "checksum.h"
#include "engine_maps.h"
#include "model_files.h"
#include "reads.h"
#include "real.h"

namespace hearth::tier {
namespace {

constinit Arena the_arena;
constexpr std::size_t kWriteOutStep = 16u
                                      << 20;  // so much memory is needed twice for a moment; a multiple of kHugePage

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

bool same_place(const ManifestEntry& entry, const Arena::TensorWrite& write, std::uint64_t offset) {
  return entry.offset == offset && entry.bytes == write.tensor_bytes && ::strcmp(entry.name, write.name) == 0;
}

/// Tensors arrive in the order they were packed in, so `hint` is nearly always right.
const ManifestEntry* find_entry(const PageVector<ManifestEntry>& manifest, std::size_t hint, std::uint64_t offset) {
  if (hint < manifest.size() && manifest[hint].offset == offset) return &manifest[hint];
  for (const ManifestEntry& entry : manifest) {
    if (entry.offset == offset) return &entry;
  }
  return nullptr;
}

bool whole(const Arena::TensorWrite& write) {
  return write.source != nullptr && write.offset == 0 && write.bytes == write.tensor_bytes && write.bytes > 0;
}

}  // namespace

Arena& arena() { return the_arena; }

void Arena::enable(Store& store, bool publish) {
  store_ = &store;
  publish_ = publish;
}

// --- allocation ------------------------------------------------------------------------------------------------------

void* Arena::allocate(std::size_t bytes) {
  if (!enabled() || bytes < kThreshold || bytes > SIZE_MAX / 2) return nullptr;
  void* base = os::map_anonymous(bytes);
  if (base == nullptr) return nullptr;
  const os::Guard guard(mutex_);
  for (std::size_t i = 0; i < kMaxBuffers; ++i) {
    Slot& slot = slots_[i];
    if (slot.taken) continue;
    slot.taken = true;
    slot.placed.store(0);
    slot.weights.store(-1);
    slot.bytes.store(bytes);
    slot.base.store(number(base), std::memory_order_release);
    if (i >= used_.load()) used_.store(i + 1, std::memory_order_release);
    return base;
  }
  os::unmap(base, bytes);
  return nullptr;
}

bool Arena::release(void* base) {
  Slot* slot = base == nullptr ? nullptr : find(base);
  if (slot == nullptr || slot->base.load() != number(base)) return false;
  os::Guard guard(mutex_);
  const int index = slot->weights.load();
  if (index >= 0) free_weights(weights_[index], index);
  slot->base.store(0, std::memory_order_release);
  os::unmap(base, slot->bytes.load());
  slot->taken = false;
  return true;
}

void Arena::free_weights(WeightBuffer& buffer, int index) {
  buffer.closing.store(true);
  while (buffer.users > 0)
    ::pthread_cond_wait(&idle_, mutex_.raw());
  if (buffer.phase == WeightBuffer::Phase::kFilling) filling_.fetch_sub(1);
  store_->discard(buffer.file);
  buffer.manifest.reset();
  live_[index] = false;
  channel().event(EventKind::kReleased, Reason::kNone, buffer.ordinal, buffer.bytes);
}

Arena::Slot* Arena::find(const void* address) {
  return const_cast<Slot*>(static_cast<const Arena*>(this)->find(address));
}

const Arena::Slot* Arena::find(const void* address) const {
  const std::size_t used = used_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    const std::uintptr_t base = slots_[i].base.load(std::memory_order_acquire);
    if (base != 0 && number(address) >= base && number(address) - base < slots_[i].bytes.load()) return &slots_[i];
  }
  return nullptr;
}

bool Arena::holds(const void* address) const { return find(address) != nullptr; }

void Arena::placed(const void* address) {
  Slot* slot = find(address);
  if (slot != nullptr) slot->placed.fetch_add(1, std::memory_order_relaxed);
}

bool Arena::has_buffer(std::size_t bytes, bool weights) const {
  const std::size_t used = used_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    const Slot& slot = slots_[i];
    if (slot.base.load() != 0 && slot.bytes.load() == bytes && (slot.weights.load() >= 0) == weights) return true;
  }
  return false;
}

bool Arena::undeclared(const void* address) const {
  const Slot* slot = find(address);
  return slot != nullptr && slot->weights.load(std::memory_order_acquire) < 0;
}

WeightBuffer* Arena::weights_at(const void* address) {
  const Slot* slot = find(address);
  const int index = slot == nullptr ? -1 : slot->weights.load(std::memory_order_acquire);
  return index < 0 ? nullptr : &weights_[index];
}

// --- declaration -----------------------------------------------------------------------------------------------------

/// Reserves a place in weights_ and the lowest ordinal no live buffer has. -1: too many.
int Arena::claim_weights(std::uint32_t& ordinal) {
  int index = -1;
  std::uint64_t taken = 0;
  for (std::size_t i = 0; i < kMaxWeights; ++i) {
    if (live_[i])
      taken |= std::uint64_t{1} << weights_[i].ordinal;
    else if (index < 0)
      index = static_cast<int>(i);
  }
  ordinal = static_cast<std::uint32_t>(__builtin_ctzll(~taken));
  if (index >= 0) live_[index] = true;
  return index;
}

void Arena::declare_weights(void* base, std::size_t bytes, const char* buffer_type, bool packs) {
  Slot* slot = find(base);
  if (slot == nullptr || slot->base.load() != number(base) || slot->weights.load() >= 0) return;
  std::uint32_t ordinal = 0;
  int index = -1;
  {
    const os::Guard guard(mutex_);
    index = claim_weights(ordinal);
    if (index >= 0) weights_[index].ordinal = ordinal;
  }
  if (index < 0) return channel().event(EventKind::kStoodAside, Reason::kTooMany, UINT32_MAX, bytes);
  WeightBuffer& buffer = weights_[index];
  buffer.base = base;
  buffer.bytes = bytes;
  buffer.engine = engine_fingerprint();
  copy_text(buffer.buffer_type, sizeof buffer.buffer_type, buffer_type);
  buffer.phase = WeightBuffer::Phase::kFilling;
  buffer.reusable = buffer.trusted = true;
  buffer.published = buffer.pinned = buffer.dirty = buffer.staged = buffer.copied = false;
  buffer.writers = 0;
  buffer.written = buffer.skipped = 0;
  buffer.closing.store(false);
  if (!attach(buffer) && !pack_into_file(buffer, packs)) {
    const os::Guard guard(mutex_);
    live_[index] = false;
    return;
  }
  filling_.fetch_add(1, std::memory_order_release);
  slot->weights.store(index, std::memory_order_release);
}

// A program that declares a buffer only after filling it has nothing to gain from the packed file.
bool Arena::attach(WeightBuffer& buffer) {
  if (os::resident_bytes(buffer.base, buffer.bytes) != 0) return false;
  PackedFile packed;
  if (store_->take(buffer.ordinal, buffer.bytes, buffer.buffer_type, buffer.engine, packed) != Reason::kNone)
    return false;
  buffer.origin = WeightBuffer::Origin::kAttached;
  buffer.file.fd = packed.fd;
  buffer.file.name[0] = '\0';
  buffer.manifest.swap(packed.manifest);
  buffer.published = true;
  if (os::move_mapping(packed.data, packed.bytes, buffer.base) == 0) {
    // It takes the place of as much memory, so the kernel refuses only in a race; a write is a crash then.
    (void)os::allow_write(buffer.base, buffer.bytes);
    channel().event(EventKind::kAttached, Reason::kNone, buffer.ordinal, buffer.bytes, 0, 0, 0, buffer.buffer_type);
    return true;
  }
  os::unmap(packed.data, packed.bytes);
  store_->discard(buffer.file);
  buffer.manifest.reset();
  buffer.published = false;
  return false;
}

bool Arena::pack_into_file(WeightBuffer& buffer, bool packs) {
  engine_maps().read_ahead();  // the engine now needs all of its model file
  int error = 0;
  buffer.origin = WeightBuffer::Origin::kPacking;
  Reason reason = store_->create(buffer.ordinal, buffer.bytes, buffer.file, error);
  const bool filled = os::resident_bytes(buffer.base, buffer.bytes) != 0;
  if (reason == Reason::kNone && filled) {
    buffer.reusable = false;
    error = os::write_all(buffer.file.fd, buffer.base, buffer.bytes, kDataOffset);
  }
  buffer.staged = buffer.copied = reason == Reason::kNone && packs && !filled && os::has_room(buffer.bytes);
  if (reason == Reason::kNone && error == 0 && !buffer.staged) {
    error = os::map_shared_over(buffer.base, buffer.bytes, buffer.file.fd, kDataOffset);
  }
  if (reason == Reason::kNone && error != 0) reason = Reason::kIo;
  if (reason == Reason::kNone && !buffer.staged) os::prefer_huge(buffer.base, buffer.bytes);
  buffer.dirty = true;
  const EventKind kind = reason == Reason::kNone ? EventKind::kArenaCreated : EventKind::kStoodAside;
  channel().event(kind, reason, buffer.ordinal, buffer.bytes, 0, 0, error, buffer.buffer_type);
  if (reason != Reason::kNone) store_->discard(buffer.file);
  return reason == Reason::kNone;
}

// --- writing ---------------------------------------------------------------------------------------------------------

Arena::Write Arena::begin_write(const TensorWrite& write) {
  WeightBuffer* buffer = weights_at(write.data);
  if (buffer == nullptr) return Write::kPass;
  std::uint64_t source = 0;
  if (whole(write)) {
    const SourceSample sample = source_sample(write.name, write.bytes);
    reads().learn(static_cast<const char*>(write.source) + sample.offset, sample.bytes);
    source = source_fingerprint(write.name, write.source, write.bytes);
  }
  const os::Guard guard(mutex_);
  if (buffer->phase == WeightBuffer::Phase::kThawed) return Write::kPass;
  if (buffer->phase == WeightBuffer::Phase::kSettled) {
    if (buffer->reusable || buffer->copied)
      (void)thaw(*buffer);  // fails only with the kernel; then the write is a crash, as it should
    return Write::kPass;
  }
  return buffer->origin == WeightBuffer::Origin::kAttached ? begin_attached(*buffer, write, source)
                                                           : begin_packing(*buffer, write, source);
}

Arena::Write Arena::begin_attached(WeightBuffer& buffer, const TensorWrite& write, std::uint64_t source) {
  const std::uint64_t offset = number(write.data) - number(buffer.base);
  const ManifestEntry* entry = find_entry(buffer.manifest, buffer.written, offset);
  if (buffer.trusted && whole(write) && entry != nullptr && same_place(*entry, write, offset) &&
      entry->source == source) {
    ++buffer.written;
    ++buffer.skipped;
    return Write::kSkip;
  }
  distrust(buffer, write.name);
  ++buffer.writers;
  return Write::kPassAndTell;
}

Arena::Write Arena::begin_packing(WeightBuffer& buffer, const TensorWrite& write, std::uint64_t source) {
  ManifestEntry entry{};
  entry.offset = number(write.data) - number(buffer.base);
  entry.bytes = write.tensor_bytes;
  entry.source = source;
  const bool fits = ::strnlen(write.name, sizeof entry.name) < sizeof entry.name && write.name[0] != '\0';
  if (fits) copy_text(entry.name, sizeof entry.name, write.name);
  const bool again = find_entry(buffer.manifest, SIZE_MAX, entry.offset) != nullptr;
  if (!whole(write) || !fits || again || !buffer.manifest.push(entry)) buffer.reusable = false;
  ++buffer.written;
  ++buffer.writers;
  return Write::kPassAndTell;
}

void Arena::distrust(WeightBuffer& buffer, const char* name) {
  buffer.reusable = false;
  if (!buffer.trusted) return;
  buffer.trusted = false;
  channel().event(EventKind::kDistrusted, Reason::kOtherTensor, buffer.ordinal, buffer.bytes, buffer.skipped, 0, 0,
                  name);
  store_->set_aside(buffer.ordinal, Reason::kOtherTensor);
}

void Arena::end_write(const void* data) {
  WeightBuffer* buffer = weights_at(data);
  if (buffer == nullptr) return;
  const os::Guard guard(mutex_);
  if (buffer->writers > 0) --buffer->writers;
}

void Arena::overwrite(void* base) {
  WeightBuffer* buffer = weights_at(base);
  if (buffer == nullptr) return;
  const os::Guard guard(mutex_);
  if (buffer->phase == WeightBuffer::Phase::kSettled && (buffer->reusable || buffer->copied)) {
    (void)thaw(*buffer);
  } else if (buffer->origin == WeightBuffer::Origin::kAttached) {
    distrust(*buffer, "");
  } else {
    buffer->reusable = false;
  }
}

/// Makes settled, write-protected weights private and writable. The file keeps what it has.
bool Arena::thaw(WeightBuffer& buffer) {
  buffer.closing.store(true);  // stops a publication that is under way
  while (buffer.users > 0)
    ::pthread_cond_wait(&idle_, mutex_.raw());
  buffer.closing.store(false);
  const int error = buffer.origin == WeightBuffer::Origin::kAttached || buffer.copied
                        ? os::allow_write(buffer.base, buffer.bytes)
                        : os::map_private_over(buffer.base, buffer.bytes, buffer.file.fd, kDataOffset);
  if (error == 0) buffer.phase = WeightBuffer::Phase::kThawed;
  channel().event(EventKind::kThawed, error == 0 ? Reason::kNone : Reason::kKernel, buffer.ordinal, buffer.bytes, 0, 0,
                  error);
  return error == 0;
}

// --- settling and publishing -----------------------------------------------------------------------------------------

bool Arena::settle(bool computed) {
  bool settled = false;
  for_each([&](WeightBuffer& buffer) {
    if (settle_one(buffer, computed)) settled = true;
  });
  return settled;
}

void Arena::write_out() {
  for_each([this](WeightBuffer& buffer) { write_out_one(buffer); });
  for_each([this](WeightBuffer& buffer) { publish_one(buffer); });
}

// The engine may read the weights meanwhile: a piece is the same before and after its exchange, which is one step for
// whoever reads. Nobody writes: they are protected, and whoever wants to write goes through thaw(), which waits for us.
void Arena::write_out_one(WeightBuffer& buffer) {
  if (!buffer.staged || buffer.phase != WeightBuffer::Phase::kSettled) return;
  auto* base = static_cast<char*>(buffer.base);
  for (std::size_t done = 0; done < buffer.bytes; done += kWriteOutStep) {
    if (buffer.closing.load()) return;
    const std::size_t part = std::min(kWriteOutStep, buffer.bytes - done);
    int error = os::write_all(buffer.file.fd, base + done, part, kDataOffset + done);
    // Before the exchange: a page that its disk does not take later may be dropped, and come back as something else.
    if (error == 0) error = os::write_back(buffer.file.fd, kDataOffset + done, part);
    if (error == 0) error = os::map_read_over(base + done, part, buffer.file.fd, kDataOffset + done);
    if (error == 0) continue;
    const os::Guard guard(mutex_);
    buffer.reusable = false;  // the rest stays in anonymous memory, correct for this process
    return channel().event(EventKind::kStoodAside, Reason::kIo, buffer.ordinal, buffer.bytes, done, 0, error);
  }
  os::prefer_huge(buffer.base, buffer.bytes);
  const os::Guard guard(mutex_);
  buffer.staged = false;
}

bool Arena::settle_one(WeightBuffer& buffer, bool computed) {
  const Slot* slot = find(buffer.base);
  const std::size_t placed = slot == nullptr ? 0 : slot->placed.load();
  const os::Guard guard(mutex_);
  if (buffer.phase != WeightBuffer::Phase::kFilling || buffer.writers > 0) return false;
  const bool attached = buffer.origin == WeightBuffer::Origin::kAttached;
  if (!computed && (attached ? buffer.skipped != buffer.manifest.size() : buffer.written != placed)) return false;
  if (buffer.manifest.empty() || (!attached && buffer.written != placed)) buffer.reusable = false;
  for (const ManifestEntry& entry : buffer.manifest)
    model_files().note_copy(ModelFiles::name_hash(entry.name));
  if ((buffer.reusable || buffer.copied) && os::protect_read(buffer.base, buffer.bytes) != 0)
    buffer.reusable = buffer.staged = false;
  buffer.phase = WeightBuffer::Phase::kSettled;
  filling_.fetch_sub(1);
  const Reason reason = buffer.reusable ? Reason::kNone : attached ? Reason::kOtherTensor : Reason::kIncomplete;
  channel().event(EventKind::kSettled, reason, buffer.ordinal, buffer.bytes,
                  attached ? buffer.skipped : buffer.written);
  return true;
}

void Arena::publish_one(WeightBuffer& buffer) {
  {
    const os::Guard guard(mutex_);
    if (!publish_ || buffer.published || buffer.staged || !buffer.reusable ||
        buffer.phase != WeightBuffer::Phase::kSettled)
      return;
    buffer.published = true;  // one attempt
  }
  const std::uint64_t begin = os::now_ns();
  int error = 0;
  const Finished finished{buffer.base,        buffer.bytes,     buffer.ordinal, buffer.engine,
                          buffer.buffer_type, &buffer.manifest, &buffer.closing};
  const Reason reason = store_->publish(buffer.file, finished, error);
  if (reason == Reason::kNone || reason == Reason::kLost) mark_synced(buffer);
  channel().event(reason == Reason::kNone ? EventKind::kPublished : EventKind::kNotPublished, reason, buffer.ordinal,
                  buffer.bytes, buffer.manifest.size(), os::now_ns() - begin, error, buffer.buffer_type);
}

WeightBuffer* Arena::enter(std::size_t index) {
  const os::Guard guard(mutex_);
  WeightBuffer& buffer = weights_[index];
  const Slot* slot = live_[index] ? find(buffer.base) : nullptr;
  if (slot == nullptr || slot->weights.load() != static_cast<int>(index) || buffer.closing.load()) return nullptr;
  ++buffer.users;
  return &buffer;
}

void Arena::leave(WeightBuffer& buffer) {
  const os::Guard guard(mutex_);
  if (--buffer.users == 0) ::pthread_cond_broadcast(&idle_);
}

Arena::Hold::Hold() {
  for (std::size_t i = 0; i < kMaxWeights; ++i)
    held_[i] = arena().enter(i);
}

Arena::Hold::~Hold() {
  for (WeightBuffer* buffer : held_) {
    if (buffer != nullptr) arena().leave(*buffer);
  }
}

bool Arena::wanted_back() const {
  for (const WeightBuffer& buffer : weights_) {
    if (buffer.closing.load(std::memory_order_relaxed) && buffer.users > 0) return true;
  }
  return false;
}

void Arena::set_pinned(WeightBuffer& buffer, bool pinned) {
  const os::Guard guard(mutex_);
  buffer.pinned = pinned;
}

void Arena::mark_synced(WeightBuffer& buffer) {
  const os::Guard guard(mutex_);
  buffer.dirty = false;
}

}  // namespace hearth::tier
