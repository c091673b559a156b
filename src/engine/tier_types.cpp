#include "engine/tier_types.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <system_error>

#include "engine/log_tail.h"

namespace hearth::engine {
namespace {

using domain::Layer;
using tier::RecordHeader;
using tier::RecordType;

// Offsets that both ends agree on whatever their versions are: those of the header, and its length is in the hello.
template <typename Record>
std::optional<Record> copy_as(std::span<const std::byte> packet) {
  Record record;
  if (packet.size() != sizeof record) return std::nullopt;
  std::memcpy(&record, packet.data(), sizeof record);
  if (record.header.length != sizeof record) return std::nullopt;
  return record;
}

std::optional<base::Mono> instant(std::uint64_t ns) {
  if (ns > static_cast<std::uint64_t>(base::Duration::max().count())) return std::nullopt;
  return base::Mono(base::Duration(static_cast<base::Duration::rep>(ns)));
}

template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  return to_showable({field, ::strnlen(field, N)});
}

// The library's own words have the figures; they end in a full stop, which ours do not.
template <std::size_t N>
std::string sentence_of(const char (&field)[N], TierReason reason) {
  auto text = text_of(field);
  if (text.ends_with('.')) text.pop_back();
  return text.empty() ? describe(reason) : text;
}

std::optional<base::Bytes> measured(std::uint64_t bytes) {
  return bytes == UINT64_MAX ? std::nullopt : std::optional<base::Bytes>(bytes);
}

template <typename Enum>
bool between(Enum value, Enum first, Enum last) {
  return value >= first && value <= last;
}

bool is_reason(TierReason reason) {
  return between(reason, TierReason::kNone, TierReason::kPageSize) ||
         between(reason, TierReason::kAbsent, TierReason::kLost);
}

std::optional<TierRecord> read_hello(std::span<const std::byte> packet, bool same_version) {
  TierHello hello;
  if (!same_version) {
    for (auto& reason : hello.reasons)
      reason = TierReason::kProtocolMismatch;
    return hello;
  }
  const auto raw = copy_as<tier::Hello>(packet);
  const auto at = raw ? instant(raw->at_ns) : std::nullopt;
  if (!at || raw->powers >> tier::kPowerCount != 0 || raw->pid > INT32_MAX) return std::nullopt;
  hello.at = *at;
  hello.pid = static_cast<int>(raw->pid);
  hello.powers = raw->powers;
  hello.memlock_limit = measured(raw->memlock_limit);
  hello.build = text_of(raw->build);
  for (unsigned i = 0; i < tier::kPowerCount; ++i) {
    if (!is_reason(raw->reason[i])) return std::nullopt;
    hello.reasons[i] = raw->reason[i];
  }
  return hello;
}

std::optional<TierRecord> read_span(std::span<const std::byte> packet) {
  const auto raw = copy_as<tier::Span>(packet);
  if (!raw || !between(raw->kind, TierSpanKind::kBackendLoad, TierSpanKind::kAdapterLoad)) return std::nullopt;
  const auto begin = instant(raw->begin_ns);
  const auto end = instant(raw->end_ns);
  if (!begin || !end || *end < *begin) return std::nullopt;
  return TierSpan{raw->kind, raw->thread, *begin, *end, raw->count, raw->result};
}

std::optional<TierRecord> read_event(std::span<const std::byte> packet) {
  const auto raw = copy_as<tier::Event>(packet);
  if (!raw || !between(raw->kind, TierEventKind::kArenaCreated, TierEventKind::kVerified) || !is_reason(raw->reason)) {
    return std::nullopt;
  }
  const auto at = instant(raw->at_ns);
  const auto took = instant(raw->ns);
  if (!at || !took) return std::nullopt;
  const auto buffer = raw->ordinal == UINT32_MAX ? std::nullopt : std::optional(raw->ordinal);
  return TierEvent{raw->kind,  raw->reason,       buffer, *at, took->time_since_epoch(), raw->bytes, raw->count,
                   raw->error, text_of(raw->text)};
}

std::optional<TierRecord> read_reply(std::span<const std::byte> packet) {
  const auto raw = copy_as<tier::Reply>(packet);
  if (!raw || !between(raw->op, TierOp::kStatus, TierOp::kUnpin) || !is_reason(raw->reason)) return std::nullopt;
  const auto begin = instant(raw->begin_ns);
  const auto end = instant(raw->end_ns);
  if (!begin || !end || *end < *begin) return std::nullopt;
  TierReply reply;
  reply.serial = raw->serial;
  reply.op = raw->op;
  reply.reason = raw->reason;
  reply.error = raw->error;
  if (!reply.done()) reply.why = sentence_of(raw->text, reply.reason);
  reply.segments = raw->segments;
  reply.begin = *begin;
  reply.end = *end;
  reply.moved = measured(raw->moved_bytes);
  reply.arena = measured(raw->arena_bytes);
  reply.arena_before = measured(raw->arena_cached_before);
  reply.arena_after = measured(raw->arena_cached_after);
  reply.model = measured(raw->model_bytes);
  reply.model_before = measured(raw->model_cached_before);
  reply.model_after = measured(raw->model_cached_after);
  if (reply.op == TierOp::kStatus) reply.private_bytes = measured(raw->private_bytes);
  reply.locked = measured(raw->locked_bytes);
  return reply;
}

struct Words {
  const char* what;
  Layer layer;
  const char* why;
};

// By kind, from kArenaCreated.
constexpr auto kWords = std::to_array<Words>({
    {"weights_placed", Layer::weights, "a weight buffer lies in a file and can leave memory"},
    {"packed_attached", Layer::packed, "the packed weights of an earlier start are used"},
    {"weights_settled", Layer::weights, "the weights are complete and read-only from here on"},
    {"packed_published", Layer::packed, "the packed weights are on disk for the next start"},
    {"packed_not_published", Layer::packed, "the packed weights are not kept"},
    {"packed_set_aside", Layer::packed, "a packed file was refused and the weights are packed again"},
    {"packed_distrusted", Layer::packed, "a tensor differed from the packed file and was packed again"},
    {"weights_thawed", Layer::weights, "the engine wrote to its weights, which now stay in memory"},
    {"weights_released", Layer::weights, "the engine freed a weight buffer"},
    {"tier_stood_aside", Layer::weights, "the library gave up a power"},
    {"packed_verified", Layer::packed, "a packed file was checked"},
});

std::string why_of(const TierEvent& event, const Words& words) {
  std::string why = words.why;
  if (event.reason != TierReason::kNone) why += ": " + describe(event.reason);
  if (event.error > 0) why += fmt::format(" ({})", std::generic_category().message(event.error));
  if (event.took.count() > 0) why += fmt::format(", {:.3g} ms", base::to_ms(event.took));
  if (!event.text.empty()) why += " [" + event.text + "]";
  return why;
}

}  // namespace

std::optional<TierRecord> read_tier_record(std::span<const std::byte> packet) {
  RecordHeader header;
  if (packet.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, packet.data(), sizeof header);
  if (header.magic != tier::kRecordMagic || header.length != packet.size()) return std::nullopt;
  const bool same_version = header.version == tier::kProtocolVersion;
  if (header.type == RecordType::kHello) return read_hello(packet, same_version);
  if (!same_version) return std::nullopt;
  if (header.type == RecordType::kSpan) return read_span(packet);
  if (header.type == RecordType::kEvent) return read_event(packet);
  if (header.type == RecordType::kReply) return read_reply(packet);
  return std::nullopt;
}

std::string describe(TierReason reason) {
  switch (reason) {
    case TierReason::kNone:
      return "nothing is wrong";
    case TierReason::kProtocolMismatch:
      return "libhearth_tier.so is of another version than the server: install both from one build";
    case TierReason::kNoSymbol:
      return "the engine does not offer the functions it needs, as one that is linked statically";
    case TierReason::kNoDirectory:
      return "there is no folder for packed weights, or it cannot be made";
    case TierReason::kBadKey:
      return "the key of the packed weights is missing or malformed";
    case TierReason::kUnsafeDirectory:
      return "the folder of packed weights belongs to somebody else or others may write to it";
    case TierReason::kNoSharedMapping:
      return "the file system of the packed weights cannot map files shared";
    case TierReason::kNoReserve:
      return "the file system of the packed weights cannot reserve space ahead";
    case TierReason::kNoSpace:
      return "there is not enough free space for packed weights, or their quota is used up";
    case TierReason::kKernel:
      return "the kernel lacks or refuses the call";
    case TierReason::kByteOrder:
      return "the machine is big-endian";
    case TierReason::kNoThread:
      return "the library could not start its thread";
    case TierReason::kMemlockLimit:
      return "RLIMIT_MEMLOCK is below the bytes to lock: raise it (LimitMEMLOCK= of the service)";
    case TierReason::kPinned:
      return "the weights are locked in memory: unpin them first";
    case TierReason::kBusy:
      return "the engine computed meanwhile";
    case TierReason::kCancelled:
      return "it was cancelled";
    case TierReason::kNoWeights:
      return "no weights of the engine are known yet";
    case TierReason::kUnknownCommand:
      return "the library does not know the command";
    case TierReason::kTooMany:
      return "the engine has more weight buffers than the library tracks";
    case TierReason::kDisabled:
      return "it is switched off";
    case TierReason::kPageSize:
      return "the kernel's memory pages are not 4 KiB";
    case TierReason::kAbsent:
      return "there is no packed file";
    case TierReason::kShort:
      return "the packed file is shorter than it says";
    case TierReason::kForeign:
      return "the packed file is not a private regular file of ours";
    case TierReason::kBadMagic:
      return "the packed file is no packed file";
    case TierReason::kOlderVersion:
      return "the packed file has an older format";
    case TierReason::kNewerVersion:
      return "the packed file has a newer format";
    case TierReason::kBadHeader:
      return "the packed file's header is damaged";
    case TierReason::kBadManifest:
      return "the packed file's table of tensors is damaged";
    case TierReason::kBadChunk:
      return "the packed weights do not match their checksum";
    case TierReason::kOtherKey:
      return "the packed file has another key";
    case TierReason::kOtherEngine:
      return "the packed file is of another engine build or processor";
    case TierReason::kOtherSize:
      return "the engine's buffer has another size or type than the packed file";
    case TierReason::kOtherTensor:
      return "a tensor has another place, size or content than in the packed file";
    case TierReason::kIncomplete:
      return "not every tensor was written through the packing call";
    case TierReason::kIo:
      return "reading, writing or syncing failed";
    case TierReason::kLost:
      return "another process published first";
  }
  return "an unknown reason";
}

std::string_view name_of(TierPower power) {
  switch (power) {
    case TierPower::kProbe:
      return "probe";
    case TierPower::kArena:
      return "arena";
    case TierPower::kPacked:
      return "packed";
    case TierPower::kHibernate:
      return "hibernate";
    case TierPower::kWake:
      return "wake";
    case TierPower::kPin:
      return "pin";
  }
  return "unknown";
}

std::string_view name_of(TierOp op) {
  switch (op) {
    case TierOp::kStatus:
      return "status";
    case TierOp::kHibernate:
      return "hibernate";
    case TierOp::kWake:
      return "wake";
    case TierOp::kPin:
      return "pin";
    case TierOp::kUnpin:
      return "unpin";
    case TierOp::kCancel:
      return "cancel";
  }
  return "unknown";
}

domain::Event to_domain(const TierEvent& event) {
  const auto& words = kWords.at(static_cast<std::size_t>(event.kind) - 1);
  domain::Event told;
  told.what = words.what;
  told.layer = words.layer;
  if (event.bytes > 0) told.bytes = event.bytes;
  told.why = why_of(event, words);
  return told;
}

}  // namespace hearth::engine
