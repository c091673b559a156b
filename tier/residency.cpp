#include "residency.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "arena.h"
#include "channel.h"
#include "model_files.h"
#include "os.h"
#include "populate.h"
#include "probe.h"

namespace hearth::tier {
namespace {

constexpr std::size_t kPageOutStep = 64u << 20;       // bytes between two looks at the stop flag
constexpr std::size_t kPopulateStep = os::kHugePage;  // what one fault brings; more a call was slower
constexpr std::int64_t kLast = INT32_MAX;             // order of tensors without a layer: they follow the layers

constinit StopCheck the_stop_check = nullptr;
constinit unsigned the_readers = 0;  // 0 = as the device likes

bool stop_now() { return arena().wanted_back() || (the_stop_check != nullptr && the_stop_check()); }

/// What is in memory now.
/// A mapped tensor smaller than this is read by itself: a page fault would read a whole window around it.
constexpr std::size_t kSmallTensor = 1u << 20;

struct Measure {
  std::uint64_t arena_bytes = 0;
  std::uint64_t arena_cached = 0;
  std::uint64_t model_bytes = 0;
  std::uint64_t model_cached = 0;
  std::uint32_t segments = 0;
};

void add(std::uint64_t& sum, std::uint64_t part) {
  sum = part == os::kUnknown || sum == os::kUnknown ? os::kUnknown : sum + part;
}

// mincore sees both the page cache and private copies of one mapping, cachestat only the cache but much faster. The
// arena's pages can be private copies in rare cases, so an untouched buffer asks cachestat and any other mincore.
std::uint64_t in_memory(const WeightBuffer& buffer) {
  const bool plain = buffer.reusable && !buffer.staged && buffer.phase != WeightBuffer::Phase::kThawed;
  const std::uint64_t cached =
      plain ? os::cached_bytes(buffer.file.fd, kDataOffset, os::round_up(buffer.bytes, os::kPage)) : os::kUnknown;
  return cached != os::kUnknown ? cached : os::resident_bytes(buffer.base, buffer.bytes);
}

std::uint64_t in_memory(const FileMapping& mapping) {
  const int fd = model_files().files()[static_cast<std::size_t>(mapping.file)].fd;
  const std::size_t bytes = mapping.end - mapping.begin;
  const std::uint64_t cached = os::cached_bytes(fd, mapping.offset, bytes);
  return cached != os::kUnknown ? cached : os::resident_bytes(reinterpret_cast<void*>(mapping.begin), bytes);
}

Measure measure(bool model) {
  Measure now;
  arena().for_each([&now](const WeightBuffer& buffer) {
    ++now.segments;
    now.arena_bytes += os::round_up(buffer.bytes, os::kPage);
    add(now.arena_cached, in_memory(buffer));
  });
  if (!model) return now;
  for (const FileMapping& mapping : model_files().mappings()) {
    now.model_bytes += mapping.end - mapping.begin;
    add(now.model_cached, in_memory(mapping));
  }
  return now;
}

std::uint64_t difference(std::uint64_t more, std::uint64_t less) {
  if (more == os::kUnknown || less == os::kUnknown) return os::kUnknown;
  return more > less ? more - less : 0;
}

void fail(Reply& reply, Reason reason, int error, const char* text) {
  if (reply.reason != Reason::kNone) return;
  reply.reason = reason;
  reply.error = error;
  copy_text(reply.text, sizeof reply.text, text);
}

// --- hibernate -------------------------------------------------------------------------------------------------------

struct Hibernation {
  Reply& reply;
  std::uint64_t computations_at_start;
  bool only_mark;
};

bool may_go_on(const Hibernation& run) {
  if (computing() || computations() != run.computations_at_start) {
    fail(run.reply, Reason::kBusy, 0, "The engine began to compute; the rest of the weights stays in memory.");
  }
  if (stop_now()) fail(run.reply, Reason::kCancelled, 0, "Cancelled; the rest of the weights stays in memory.");
  return run.reply.reason == Reason::kNone;
}

void page_out_range(const Hibernation& run, std::uintptr_t at, std::size_t bytes) {
  const auto give_up = run.only_mark ? os::make_cold : os::page_out;
  for (std::size_t done = 0; done < bytes && may_go_on(run); done += kPageOutStep) {
    const std::size_t part = bytes - done < kPageOutStep ? bytes - done : kPageOutStep;
    const int error = give_up(reinterpret_cast<void*>(at + done), part);
    if (error != 0) fail(run.reply, Reason::kKernel, error, "The kernel refuses to reclaim the weights (madvise).");
  }
}

void hibernate_buffer(const Hibernation& run, WeightBuffer& buffer) {
  if (buffer.pinned) return fail(run.reply, Reason::kPinned, 0, "The weights are pinned; unpin them first.");
  if (!may_go_on(run)) return;
  if (buffer.dirty && !run.only_mark) {
    if (::fdatasync(buffer.file.fd) != 0)
      return fail(run.reply, Reason::kIo, errno, "Weights could not be written out.");
    arena().mark_synced(buffer);
  }
  page_out_range(run, reinterpret_cast<std::uintptr_t>(buffer.base), buffer.bytes);
}

void hibernate(const Command& command, Reply& reply) {
  const bool drop = (command.flags & kOnlyMark) == 0;
  const Hibernation run{reply, computations(), !drop};
  arena().for_each([&](WeightBuffer& buffer) {
    hibernate_buffer(run, buffer);
    if (drop && reply.reason == Reason::kNone) (void)os::drop_cache(buffer.file.fd);
  });
  if ((command.flags & kArenaOnly) != 0) return;
  for (const FileMapping& mapping : model_files().mappings()) {
    page_out_range(run, mapping.begin, mapping.end - mapping.begin);
  }
  for (const ModelFile& file : model_files().files()) {
    if (!drop || file.fd < 0 || reply.reason != Reason::kNone) continue;
    (void)os::write_back(file.fd, 0, 0);  // a model that was written a moment ago
    (void)os::drop_cache(file.fd);
  }
}

// --- wake ------------------------------------------------------------------------------------------------------------

void add_buffer(PageVector<Extent>& extents, const WeightBuffer& buffer) {
  const auto base = reinterpret_cast<std::uintptr_t>(buffer.base);
  bool good = true;
  for (const ManifestEntry& entry : buffer.manifest) {
    const std::int32_t layer = layer_of(entry.name);
    good = good && add_extent(extents, base + entry.offset, entry.bytes, layer < 0 ? kLast : layer);
  }
  // Without a manifest the order is that of the addresses, which is the order of creation.
  if (buffer.manifest.empty() || !good) (void)add_extent(extents, base, buffer.bytes, 0);
}

void ask_for_small(const MappedTensor& tensor) {
  if (tensor.bytes >= kSmallTensor) return;
  std::uint64_t offset = 0;
  const int fd = model_files().locate(tensor.at, offset);
  if (fd >= 0) os::read_ahead_file(fd, offset, tensor.bytes);
}

void add_model(PageVector<Extent>& extents) {
  PageVector<MappedTensor> tensors;
  model_files().live_tensors(tensors);
  for (const MappedTensor& tensor : tensors) {
    if (tensor.by_rows) continue;
    ask_for_small(tensor);
    if (!add_extent(extents, tensor.at, tensor.bytes, tensor.layer < 0 ? kLast : tensor.layer)) break;
  }
  tensors.reset();
}

unsigned readers_of_the_weights() {
  unsigned readers = 0;
  arena().for_each([&](const WeightBuffer& buffer) { readers = std::max(readers, os::good_readers(buffer.file.fd)); });
  for (const ModelFile& file : model_files().files())
    readers = std::max(readers, os::good_readers(file.fd));
  return readers;
}

void wake(const Command& command, Reply& reply) {
  PageVector<Extent> extents;
  const Arena::Hold hold;  // the extents point into buffers
  arena().for_each([&](const WeightBuffer& buffer) { add_buffer(extents, buffer); });
  if ((command.flags & kArenaOnly) == 0) add_model(extents);
  sort_extents(extents);
  const unsigned chosen = command.readers == 0 ? the_readers : command.readers;
  const unsigned readers = chosen == 0 ? readers_of_the_weights() : chosen;
  const std::size_t chunk =
      command.chunk_bytes < os::kPage ? kPopulateStep : os::round_up(command.chunk_bytes, os::kPage);
  const int error = populate_extents(extents, readers, chunk, stop_now);
  if (error == ECANCELED)
    fail(reply, Reason::kCancelled, 0, "Cancelled; the rest of the weights comes in as it is used.");
  else if (error != 0)
    fail(reply, Reason::kIo, error, "Weights could not be read back.");
  extents.reset();
}

// --- pin -------------------------------------------------------------------------------------------------------------

void explain_lock(Reply& reply, int error, std::uint64_t wanted) {
  char text[sizeof reply.text];
  const std::uint64_t limit = os::memlock_limit();
  if ((error == ENOMEM || error == EPERM || error == EAGAIN) && limit < wanted) {
    ::snprintf(text, sizeof text,
               "Pinning needs %llu MB of locked memory, the limit is %llu KB; raise LimitMEMLOCK / ulimit -l.",
               static_cast<unsigned long long>((wanted + 999'999) / 1'000'000),
               static_cast<unsigned long long>(limit / 1024));
    return fail(reply, Reason::kMemlockLimit, error, text);
  }
  fail(reply, Reason::kKernel, error, "The kernel refuses to lock the weights in memory.");
}

void pin(const Command& command, Reply& reply, std::uint64_t wanted) {
  const bool on_fault = (command.flags & kOnFault) != 0;
  arena().for_each([&](WeightBuffer& buffer) {
    if (reply.reason != Reason::kNone) return;
    const int error = os::lock(buffer.base, buffer.bytes, on_fault);
    if (error != 0) return explain_lock(reply, error, wanted);
    arena().set_pinned(buffer, true);
  });
  PageVector<MappedTensor> tensors;
  if ((command.flags & kArenaOnly) == 0) model_files().live_tensors(tensors);
  for (const MappedTensor& tensor : tensors) {
    const std::uintptr_t begin = tensor.at / os::kPage * os::kPage;
    if (reply.reason != Reason::kNone) break;
    const int error = os::lock(reinterpret_cast<void*>(begin), tensor.at + tensor.bytes - begin, on_fault);
    if (error != 0) explain_lock(reply, error, wanted);
  }
  tensors.reset();
}

void unpin() {
  arena().for_each([](WeightBuffer& buffer) {
    (void)os::unlock(buffer.base, buffer.bytes);
    arena().set_pinned(buffer, false);
  });
  for (const FileMapping& mapping : model_files().mappings()) {
    (void)os::unlock(reinterpret_cast<void*>(mapping.begin), mapping.end - mapping.begin);
  }
}

void act(const Command& command, Reply& reply, const Measure& before) {
  switch (command.op) {
    case Op::kStatus:
      return;
    case Op::kHibernate:
      return hibernate(command, reply);
    case Op::kWake:
      return wake(command, reply);
    case Op::kPin:
      pin(command, reply, before.arena_bytes + before.model_bytes);
      if (reply.reason != Reason::kNone) unpin();  // all or nothing
      return;
    case Op::kUnpin:
      return unpin();
    case Op::kCancel:
      return;
  }
  fail(reply, Reason::kUnknownCommand, 0, "The library does not know this command.");
}

std::uint64_t moved(Op op, const Reply& reply) {
  const std::uint64_t out = difference(reply.arena_cached_before, reply.arena_cached_after);
  const std::uint64_t in = difference(reply.arena_cached_after, reply.arena_cached_before);
  std::uint64_t sum = op == Op::kHibernate ? out : in;
  add(sum, op == Op::kHibernate ? difference(reply.model_cached_before, reply.model_cached_after)
                                : difference(reply.model_cached_after, reply.model_cached_before));
  return op == Op::kStatus ? 0 : sum;
}

}  // namespace

void configure(StopCheck check, unsigned readers) {
  the_stop_check = check;
  the_readers = readers;
}

void carry_out(const Command& command, Reply& reply) {
  reply.serial = command.serial;
  reply.op = command.op;
  reply.begin_ns = os::now_ns();
  model_files().refresh();
  const bool model = (command.flags & kArenaOnly) == 0;
  const Measure before = measure(model);
  if (before.segments == 0 && before.model_bytes == 0) {
    fail(reply, Reason::kNoWeights, 0, "No weights are known yet: the engine has not loaded a model.");
  } else {
    act(command, reply, before);
  }
  reply.end_ns = os::now_ns();
  const Measure after = measure(model);
  reply.segments = after.segments;
  reply.arena_bytes = after.arena_bytes;
  reply.arena_cached_before = before.arena_cached;
  reply.arena_cached_after = after.arena_cached;
  reply.model_bytes = after.model_bytes;
  reply.model_cached_before = before.model_cached;
  reply.model_cached_after = after.model_cached;
  reply.locked_bytes = os::locked_bytes();
  if (command.op == Op::kStatus) {  // reading smaps takes milliseconds
    arena().for_each([&reply](const WeightBuffer& buffer) {
      add(reply.private_bytes, ModelFiles::private_bytes(buffer.base, buffer.bytes));
    });
  }
  reply.moved_bytes = moved(command.op, reply);
}

}  // namespace hearth::tier
