#pragma once
// What the preloaded library tells, checked and in the daemon's own types. Pure; the raw records are in
// tier/protocol.h, whose enumerations are used as they are. Instants are CLOCK_MONOTONIC, which is what base::Mono
// counts.
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "domain/event.h"
#include "tier/protocol.h"

namespace hearth::engine {

using TierOp = tier::Op;
using TierPower = tier::Power;
using TierReason = tier::Reason;
using TierSpanKind = tier::SpanKind;
using TierEventKind = tier::EventKind;

// The library's first record: what it can do in this process, and why not the rest.
struct TierHello {
  base::Mono at;
  int pid = 0;
  std::uint32_t powers = 0;  // bit per TierPower
  TierReason reasons[tier::kPowerCount] = {};
  std::optional<base::Bytes> memlock_limit;  // empty: none
  std::string build;

  [[nodiscard]] bool has(TierPower power) const { return (powers >> static_cast<unsigned>(power) & 1U) != 0; }
};

struct TierSpan {
  TierSpanKind kind{};
  std::uint32_t thread = 0;  // kernel thread id
  base::Mono begin;
  base::Mono end;
  std::int64_t count = 0;  // meaning by kind, see tier/protocol.h
  std::int64_t result = 0;
};

struct TierEvent {
  TierEventKind kind{};
  TierReason reason{};
  std::optional<std::uint32_t> buffer;  // which weight buffer
  base::Mono at;
  base::Duration took{};  // 0 where the kind has no duration
  base::Bytes bytes = 0;
  std::uint64_t count = 0;
  int error = 0;     // errno, 0: none
  std::string text;  // tensor, buffer type or file name; printable
};

// The answer to one command. Bytes that could not be measured are empty.
struct TierReply {
  std::uint32_t serial = 0;
  TierOp op{};
  TierReason reason{};         // kNone: done
  int error = 0;               // errno behind it
  std::string why;             // where not done: one sentence without a full stop
  std::uint32_t segments = 0;  // weight buffers in the arena
  base::Mono begin;            // begin … end is the work itself, without the measuring around it
  base::Mono end;
  std::optional<base::Bytes> moved;         // that left memory (hibernate) or came in (wake)
  std::optional<base::Bytes> arena;         // the packed weights, all of them
  std::optional<base::Bytes> arena_before;  // of them in memory
  std::optional<base::Bytes> arena_after;
  std::optional<base::Bytes> model;         // model files that the process maps, all of them
  std::optional<base::Bytes> model_before;  // of them in memory
  std::optional<base::Bytes> model_after;
  std::optional<base::Bytes> private_bytes;  // status: arena bytes that only swap could take
  std::optional<base::Bytes> locked;

  [[nodiscard]] bool done() const { return reason == TierReason::kNone; }
};

using TierRecord = std::variant<TierHello, TierSpan, TierEvent, TierReply>;

// Reads one packet of the library. Everything in it is hostile: magic, version, type, length, enumerations, instants
// and texts are checked. Empty when it is not exactly one good record. A hello of another version is good (its powers
// are none).
[[nodiscard]] std::optional<TierRecord> read_tier_record(std::span<const std::byte> packet);

// One clause without a subject, as in "… is missing: the kernel lacks or refuses the call".
[[nodiscard]] std::string describe(TierReason reason);
// "hibernate"
[[nodiscard]] std::string_view name_of(TierPower power);
[[nodiscard]] std::string_view name_of(TierOp op);

// The event as the world is told it: `what`, `layer`, `bytes`, `why`; instant, model and `by` are the caller's.
//   weights_placed      weights   a weight buffer was moved into a file that can leave memory
//   packed_attached     packed    a packed file is used instead of packing
//   weights_settled     weights   filling ended; nothing writes to the weights from here on
//   packed_published    packed    the packed weights are durable and will be used at the next start
//   packed_not_published, packed_set_aside, packed_distrusted, packed_verified   packed
//   weights_thawed      weights   the engine wrote to them: that buffer cannot leave memory any more
//   weights_released    weights   the engine freed the buffer
//   tier_stood_aside    weights   a power was given up at run time
[[nodiscard]] domain::Event to_domain(const TierEvent& event);

}  // namespace hearth::engine
