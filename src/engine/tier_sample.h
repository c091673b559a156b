#pragma once
// Records as the preloaded library sends them. For tests; no product code includes it.
#include <cstring>
#include <string_view>
#include <vector>

#include "tier/protocol.h"

namespace hearth::engine {

template <typename Record>
Record blank_record(tier::RecordType type) {
  Record record{};
  record.header = {tier::kRecordMagic, static_cast<std::uint16_t>(tier::kProtocolVersion), type, sizeof record, 0};
  return record;
}

template <typename Record>
std::vector<std::byte> bytes_of(const Record& record) {
  std::vector<std::byte> bytes(sizeof record);
  std::memcpy(bytes.data(), &record, sizeof record);
  return bytes;
}

// All powers but pin.
inline tier::Hello hello_record() {
  auto hello = blank_record<tier::Hello>(tier::RecordType::kHello);
  hello.pid = 42;
  hello.memlock_limit = 65536;
  hello.powers = 0b011111;
  hello.reason[static_cast<unsigned>(tier::Power::kPin)] = tier::Reason::kMemlockLimit;
  std::memcpy(hello.build, "0.1.0", 6);
  return hello;
}

inline tier::Span span_record(tier::SpanKind kind, std::uint64_t begin_ns, std::uint64_t end_ns) {
  auto span = blank_record<tier::Span>(tier::RecordType::kSpan);
  span.kind = kind;
  span.begin_ns = begin_ns;
  span.end_ns = end_ns;
  return span;
}

inline tier::Event event_record(tier::EventKind kind) {
  auto event = blank_record<tier::Event>(tier::RecordType::kEvent);
  event.kind = kind;
  event.bytes = 4096;
  std::memcpy(event.text, "0.pack", 7);
  return event;
}

inline tier::Reply reply_record(std::uint32_t serial, tier::Op op) {
  auto reply = blank_record<tier::Reply>(tier::RecordType::kReply);
  reply.serial = serial;
  reply.op = op;
  reply.begin_ns = 1000;
  reply.end_ns = 2000;
  reply.moved_bytes = 900;
  reply.arena_bytes = 1000;
  reply.arena_cached_before = 900;
  reply.model_cached_before = UINT64_MAX;
  return reply;
}

}  // namespace hearth::engine
