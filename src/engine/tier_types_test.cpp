#include "engine/tier_types.h"

#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "engine/tier_sample.h"

namespace hearth::engine {
namespace {

using testing::HasSubstr;

TEST(TierRecord, GoodRecordsAreUnderstood) {
  const auto hello = std::get<TierHello>(*read_tier_record(bytes_of(hello_record())));
  EXPECT_TRUE(hello.has(TierPower::kWake));
  EXPECT_FALSE(hello.has(TierPower::kPin));
  EXPECT_EQ(hello.reasons[static_cast<unsigned>(TierPower::kPin)], TierReason::kMemlockLimit);
  EXPECT_EQ(hello.memlock_limit, 65536U);
  EXPECT_EQ(hello.build, "0.1.0");
  const auto span = std::get<TierSpan>(*read_tier_record(bytes_of(span_record(TierSpanKind::kProcess, 10, 30))));
  EXPECT_EQ((span.end - span.begin).count(), 20);
  const auto event = std::get<TierEvent>(*read_tier_record(bytes_of(event_record(TierEventKind::kAttached))));
  EXPECT_EQ(event.buffer, 0U);
  EXPECT_EQ(event.bytes, 4096U);
  const auto reply = std::get<TierReply>(*read_tier_record(bytes_of(reply_record(7, TierOp::kHibernate))));
  EXPECT_TRUE(reply.done());
  EXPECT_EQ(reply.moved, 900U);
  EXPECT_FALSE(reply.model_before);   // not measured
  EXPECT_FALSE(reply.private_bytes);  // only a status tells
}

TEST(TierRecord, EveryFieldThatCouldMisleadIsChecked) {
  const auto refused = [](auto record, auto change) {
    change(record);
    return !read_tier_record(bytes_of(record));
  };
  const auto span = span_record(TierSpanKind::kProcess, 10, 30);
  EXPECT_TRUE(refused(span, [](auto& r) { r.header.magic ^= 1; }));
  EXPECT_TRUE(refused(span, [](auto& r) { r.header.version = 2; }));
  EXPECT_TRUE(refused(span, [](auto& r) { r.header.length = 55; }));
  EXPECT_TRUE(refused(span, [](auto& r) { r.header.type = tier::RecordType::kCommand; }));
  EXPECT_TRUE(refused(span, [](auto& r) { r.header.type = tier::RecordType::kEvent; }));
  EXPECT_TRUE(refused(span, [](auto& r) { r.header.type = static_cast<tier::RecordType>(99); }));
  EXPECT_TRUE(refused(span, [](auto& r) { r.kind = static_cast<TierSpanKind>(0); }));
  EXPECT_TRUE(refused(span, [](auto& r) { r.kind = static_cast<TierSpanKind>(11); }));
  EXPECT_TRUE(refused(span, [](auto& r) { r.end_ns = r.begin_ns - 1; }));
  EXPECT_TRUE(refused(span, [](auto& r) { r.end_ns = UINT64_MAX; }));
  const auto event = event_record(TierEventKind::kAttached);
  EXPECT_TRUE(refused(event, [](auto& r) { r.kind = static_cast<TierEventKind>(12); }));
  EXPECT_TRUE(refused(event, [](auto& r) { r.reason = static_cast<TierReason>(21); }));
  EXPECT_TRUE(refused(event, [](auto& r) { r.at_ns = UINT64_MAX; }));
  EXPECT_TRUE(refused(event, [](auto& r) { r.ns = UINT64_MAX; }));
  const auto reply = reply_record(1, TierOp::kWake);
  EXPECT_TRUE(refused(reply, [](auto& r) { r.op = TierOp::kCancel; }));
  EXPECT_TRUE(refused(reply, [](auto& r) { r.reason = static_cast<TierReason>(48); }));
  EXPECT_TRUE(refused(reply, [](auto& r) { r.end_ns = 0; }));
  const auto hello = hello_record();
  EXPECT_TRUE(refused(hello, [](auto& r) { r.powers = 1U << tier::kPowerCount; }));
  EXPECT_TRUE(refused(hello, [](auto& r) { r.pid = UINT32_MAX; }));
  EXPECT_TRUE(refused(hello, [](auto& r) { r.reason[2] = static_cast<TierReason>(31); }));
}

TEST(TierRecord, AHelloTellsOfPagesThatDoNotFit) {
  auto hello = hello_record();
  hello.reason[static_cast<unsigned>(TierPower::kWake)] = TierReason::kPageSize;
  const auto read = read_tier_record(bytes_of(hello));
  ASSERT_TRUE(read);
  const auto reason = std::get<TierHello>(*read).reasons[static_cast<unsigned>(TierPower::kWake)];
  EXPECT_EQ(describe(reason), "the kernel's memory pages are not 4 KiB");
}

TEST(TierRecord, TextsAreCutAtTheirFieldAndFitToBeShown) {
  auto event = event_record(TierEventKind::kSetAside);
  std::memset(event.text, '\x1b', sizeof event.text);
  EXPECT_EQ(std::get<TierEvent>(*read_tier_record(bytes_of(event))).text, std::string(sizeof event.text, '?'));
}

TEST(TierRecord, AHelloOfAnotherVersionHasNoPower) {
  auto raw = hello_record();
  raw.header.version = 2;
  const auto hello = std::get<TierHello>(*read_tier_record(bytes_of(raw)));
  EXPECT_EQ(hello.powers, 0U);
  EXPECT_EQ(hello.reasons[0], TierReason::kProtocolMismatch);
}

TEST(TierRecord, CutAndRandomPacketsAreNeverMoreThanRefused) {
  std::mt19937 random(1);
  const auto reply = bytes_of(reply_record(1, TierOp::kWake));
  for (std::size_t length = 0; length < reply.size(); ++length) {
    EXPECT_FALSE(read_tier_record(std::span(reply).first(length))) << length;
  }
  for (int round = 0; round < 20'000; ++round) {
    auto packet = bytes_of(event_record(TierEventKind::kAttached));
    for (int flips = 0; flips < 3; ++flips)
      packet.at(random() % packet.size()) = static_cast<std::byte>(random());
    if (const auto record = read_tier_record(packet); record && std::holds_alternative<TierEvent>(*record)) {
      EXPECT_FALSE(to_domain(std::get<TierEvent>(*record)).what.empty());
    }
  }
}

TEST(TierEvent, IsToldWithItsLayerItsBytesAndItsReason) {
  auto raw = event_record(TierEventKind::kSetAside);
  raw.reason = TierReason::kBadChunk;
  const auto told = to_domain(std::get<TierEvent>(*read_tier_record(bytes_of(raw))));
  EXPECT_EQ(told.what, "packed_set_aside");
  EXPECT_EQ(told.layer, domain::Layer::packed);
  EXPECT_EQ(told.bytes, 4096U);
  EXPECT_THAT(*told.why, HasSubstr("packed again: the packed weights do not match their checksum"));
}

}  // namespace
}  // namespace hearth::engine
