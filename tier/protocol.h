// Records exchanged between the Hearth daemon and libhearth_tier.so inside an engine process.
//
// Transport: one AF_UNIX SOCK_SEQPACKET pair made by the daemon; the library's end is inherited by the engine and named
// in the environment (see tier/settings.h). One packet is one record. Records are plain memory images of the structs
// below (both ends are on one machine and one byte order); sizes are fixed and asserted, so a reader checks `length`
// and copies.
//
// Version rule: the daemon states its version in HEARTH_TIER_PROTOCOL. The library compares before it does anything; on
// a difference it sends one hello that says `Reason::kProtocolMismatch` for every power and then stands aside. The
// hello's header never changes between versions.
//
// Times are CLOCK_MONOTONIC nanoseconds. Sizes are bytes. Text is UTF-8, NUL-terminated, cut to its field.
// The library never blocks on the socket: a record that does not fit is dropped and counted in the next header.
#pragma once

#include <cstdint>
#include <type_traits>

namespace hearth::tier {

inline constexpr std::uint32_t kProtocolVersion = 1;
inline constexpr std::uint32_t kRecordMagic = 0x48545231;  // "1RTH" in memory order
inline constexpr std::uint32_t kMaxRecordBytes = 512;      // longest record of any type

enum class RecordType : std::uint16_t {
  kHello = 1,     // library -> daemon, once, before the engine's main()
  kSpan = 2,      // library -> daemon, something with a begin and an end
  kEvent = 3,     // library -> daemon, something that happened to the arena or the store
  kReply = 4,     // library -> daemon, answer to one command
  kCommand = 16,  // daemon -> library
};

struct RecordHeader {
  std::uint32_t magic;    // kRecordMagic
  std::uint16_t version;  // kProtocolVersion
  RecordType type;
  std::uint32_t length;   // bytes of the whole record
  std::uint32_t dropped;  // library -> daemon: records lost so far; daemon -> library: 0
};

/// What the library can do for this process. Bit `1 << power` in masks, index in `Hello::reason`.
enum class Power : std::uint32_t {
  kProbe = 0,      // spans
  kArena = 1,      // weight buffers live in files
  kPacked = 2,     // packed weights are published and reused
  kHibernate = 3,  // weights leave memory on command
  kWake = 4,       // weights come back on command
  kPin = 5,        // weights are locked on command
};
inline constexpr unsigned kPowerCount = 6;

/// Why a power is missing, a packed file was not used, or a command failed. 0 means nothing is wrong.
enum class Reason : std::uint16_t {
  kNone = 0,
  kProtocolMismatch = 1,  // daemon and library speak different versions
  kNoSymbol = 2,          // the process has no (dynamic) function the power needs
  kNoDirectory = 3,       // HEARTH_TIER_DIR is not given or cannot be made
  kBadKey = 4,            // HEARTH_TIER_KEY is not given or has characters outside [A-Za-z0-9._-]
  kUnsafeDirectory = 5,   // the directory belongs to somebody else or others may write to it
  kNoSharedMapping = 6,   // the file system cannot map files shared
  kNoReserve = 7,         // the file system cannot reserve space ahead (a full disk would kill the engine)
  kNoSpace = 8,           // not enough free space or over the quota
  kKernel = 9,            // the kernel lacks or refuses the call
  kByteOrder = 10,        // big-endian machine
  kNoThread = 11,         // the library's thread could not be started
  kMemlockLimit = 12,     // RLIMIT_MEMLOCK is below the bytes to lock
  kPinned = 13,           // weights are locked, unpin first
  kBusy = 14,             // the engine computed meanwhile; stopped half way
  kCancelled = 15,        // a cancel command came
  kNoWeights = 16,        // nothing to act on: no weight buffer is known yet
  kUnknownCommand = 17,
  kTooMany = 18,   // more weight buffers than the library tracks
  kDisabled = 19,  // switched off by the daemon
  kPageSize = 20,  // the kernel has larger pages than ranges here are rounded to
  kAbsent = 32,    // packed file: there is none
  kShort = 33,     // packed file: shorter than it says
  kForeign = 34,   // packed file: not an own, private, regular file
  kBadMagic = 35,
  kOlderVersion = 36,
  kNewerVersion = 37,
  kBadHeader = 38,  // header checksum or a field is impossible
  kBadManifest = 39,
  kBadChunk = 40,  // weight bytes do not match their checksum
  kOtherKey = 41,
  kOtherEngine = 42,  // packed by another build, CPU variant or CPU
  kOtherSize = 43,    // the engine's buffer has another size or type
  kOtherTensor = 44,  // a tensor has another place, size or source
  kIncomplete = 45,   // not every tensor of the buffer was written whole through the packing call
  kIo = 46,           // read, write or sync failed
  kLost = 47,         // another writer published first
};

struct Hello {
  RecordHeader header;
  std::uint64_t at_ns;
  std::uint64_t symbols;        // bit per entry of real symbol table, order in tier/real.h
  std::uint64_t memlock_limit;  // bytes, UINT64_MAX = none
  std::uint32_t pid;
  std::uint32_t powers;  // bit per Power
  Reason reason[8];      // by Power, kNone where available
  char build[64];        // the library's version string
};

enum class SpanKind : std::uint16_t {
  kBackendLoad = 1,  // ggml backends looked for and loaded
  kModelLoad = 2,    // loader entered .. first use of its vocabulary; on the CPU this includes packing
  kContextInit = 3,  // context creation entered .. first computation
  kTokenize = 4,     // count = bytes of text, result = tokens (negative: buffer too small)
  kProcess = 5,  // one prefill or decode call; count = tokens in the batch (-1 unknown), result = engine's code; of a
                 // long run of equal short ones only some are sent (tier/probe.h)
  kGraph = 6,    // one graph of a program that has no process call
  kSynchronize = 7,  // waiting for a device; only reported when it took 100 microseconds or more
  kStateSave = 8,    // sequence state copied out; count = bytes
  kStateLoad = 9,    // sequence state copied in; count = bytes
  kAdapterLoad = 10,
};

struct Span {
  RecordHeader header;
  SpanKind kind;
  std::uint16_t reserved;
  std::uint32_t thread;  // kernel thread id
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::int64_t count;
  std::int64_t result;
};

enum class EventKind : std::uint16_t {
  kArenaCreated = 1,  // a weight buffer was moved into a file; bytes = its size
  kAttached = 2,      // a published file was mapped instead of packing; bytes = its size
  kSettled = 3,       // filling ended; bytes = size, count = tensors skipped (attached) or recorded (packing)
  kPublished = 4,     // packed weights are durable under their final name; ns = time it took
  kNotPublished = 5,  // reason says why; the engine is unaffected
  kSetAside = 6,      // a packed file was refused and renamed; reason says why
  kDistrusted = 7,    // a tensor differed from the manifest: written by the engine into private pages
  kThawed = 8,        // the engine wrote to settled weights: that buffer became private memory
  kReleased = 9,      // the engine freed the buffer
  kStoodAside = 10,   // a power was given up at run time; reason says why
  kVerified = 11,     // a packed file was checked; bytes = bytes read, ns = time it took
};

struct Event {
  RecordHeader header;
  EventKind kind;
  Reason reason;
  std::uint32_t ordinal;  // which weight buffer, UINT32_MAX = none
  std::uint64_t at_ns;
  std::uint64_t ns;  // duration where the kind has one
  std::uint64_t bytes;
  std::uint64_t count;
  std::int32_t error;  // errno, 0 = none
  std::uint32_t reserved;
  char text[96];  // tensor, buffer type or file name
};

enum class Op : std::uint16_t {
  kStatus = 1,
  kHibernate = 2,
  kWake = 3,
  kPin = 4,
  kUnpin = 5,
  kCancel = 6,  // stops the running hibernate or wake at its next chunk; has no reply of its own
};

enum CommandFlags : std::uint32_t {
  kArenaOnly = 1,  // leave the engine's mapping of the model file alone
  kOnlyMark = 2,   // hibernate: nothing leaves now, but the weights are the first to go when memory is short
  kOnFault = 4,    // pin: lock pages as they come in instead of reading all now
};

struct Command {
  RecordHeader header;
  std::uint32_t serial;  // chosen by the daemon, repeated in the reply
  Op op;
  std::uint16_t readers;  // wake: reader threads, 0 = the library's choice
  std::uint32_t flags;
  std::uint32_t chunk_bytes;  // wake: bytes per populate call, 0 = the library's choice
};

/// One answer per command. For status, `moved_bytes` is 0 and before == after. begin .. end is the work itself, without
/// the measuring around it. Bytes that could not be measured are UINT64_MAX.
struct Reply {
  RecordHeader header;
  std::uint32_t serial;
  Op op;
  Reason reason;           // kNone = done
  std::int32_t error;      // errno behind the reason, 0 = none
  std::uint32_t segments;  // weight buffers in the arena
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint64_t moved_bytes;  // hibernate: bytes that left memory; wake: bytes that came in
  std::uint64_t arena_bytes;
  std::uint64_t arena_cached_before;  // bytes of the arena in memory (page cache or private), measured
  std::uint64_t arena_cached_after;
  std::uint64_t model_bytes;  // bytes of model files this process maps
  std::uint64_t model_cached_before;
  std::uint64_t model_cached_after;
  std::uint64_t private_bytes;  // status only: arena bytes that are private copies (not reclaimable without swap)
  std::uint64_t locked_bytes;
  char text[128];  // one sentence where reason != kNone
};

static_assert(sizeof(RecordHeader) == 16);
static_assert(sizeof(Hello) == 128 && sizeof(Span) == 56 && sizeof(Event) == 160);
static_assert(sizeof(Command) == 32 && sizeof(Reply) == 248);
static_assert(std::is_trivially_copyable_v<Hello> && std::is_trivially_copyable_v<Reply>);

}  // namespace hearth::tier
