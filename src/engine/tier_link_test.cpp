// The link with a scripted library on the other end of the pair.
#include "engine/tier_link.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <cstring>

#include "engine/tier_sample.h"
#include "rt/task_group.h"

namespace hearth::engine {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TierLinkTest : public testing::Test {
 protected:
  TierLinkTest() {
    auto pair = TierLink::make().value();
    peer = std::move(pair.theirs);
    link = std::make_shared<TierLink>(io.get_executor(), std::move(pair.ours));
    link->on_event([this](const TierEvent& event) { events.push_back(event.kind); });
    group.spawn(link->run());
  }
  ~TierLinkTest() override {
    peer.reset();
    turn();
    EXPECT_TRUE(link->closed());
  }

  // Lets everything happen that can without waiting.
  void turn() {
    io.restart();
    io.poll();
  }
  template <typename Record>
  void say(const Record& record) {
    say_bytes(bytes_of(record));
  }
  void say_bytes(std::span<const std::byte> bytes) {
    ASSERT_EQ(::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    turn();
  }
  // The next command that the library finds, or nothing.
  std::optional<tier::Command> heard() {
    tier::Command command{};
    const auto length = ::recv(peer.get(), &command, sizeof command, MSG_DONTWAIT | MSG_TRUNC);
    if (length != sizeof command) return std::nullopt;
    return command;
  }
  struct Call {
    std::optional<base::Result<TierReply>> result;
    boost::asio::cancellation_signal leave;
  };
  std::shared_ptr<Call> ask(TierOp op, base::Duration patience = 1h, TierOptions options = {}) {
    auto call = std::make_shared<Call>();
    boost::asio::co_spawn(io, link->command(op, options, std::chrono::steady_clock::now() + patience),
                          boost::asio::bind_cancellation_slot(
                              call->leave.slot(), [call](std::exception_ptr failure, base::Result<TierReply> result) {
                                if (failure) std::rethrow_exception(failure);
                                call->result = std::move(result);
                              }));
    turn();
    return call;
  }
  void wait_for(const std::shared_ptr<Call>& call) {
    io.restart();
    while (!call->result && io.run_one() > 0) {
    }
  }

  boost::asio::io_context io;
  rt::TaskGroup group{io.get_executor(), [](std::exception_ptr failure) { std::rethrow_exception(failure); }};
  base::Fd peer;
  std::shared_ptr<TierLink> link;
  std::vector<TierEventKind> events;
};

TEST_F(TierLinkTest, BeforeTheHelloThereIsNothing) {
  EXPECT_FALSE(link->hello());
  EXPECT_THAT(link->powers(), IsEmpty());
  EXPECT_THAT(link->why_missing(TierPower::kWake), HasSubstr("wake is missing: libhearth_tier.so did not speak up"));
  const auto call = ask(TierOp::kStatus);
  EXPECT_EQ(call->result->error().code, ErrorCode::unsupported);
  EXPECT_FALSE(heard());
}

TEST_F(TierLinkTest, TheHelloTellsWhatThereIsAndWhyTheRestIsNot) {
  say(hello_record());
  EXPECT_EQ(link->powers().size(), 5U);
  EXPECT_EQ(link->why_missing(TierPower::kWake), "");
  EXPECT_THAT(link->why_missing(TierPower::kPin), HasSubstr("pin is missing: RLIMIT_MEMLOCK"));
  EXPECT_THAT(ask(TierOp::kPin)->result->error().message, HasSubstr("RLIMIT_MEMLOCK"));
  auto second = hello_record();
  second.powers = 0b111111;
  say(second);
  EXPECT_FALSE(link->has(TierPower::kPin));
  EXPECT_EQ(link->bad_records(), 1U);
}

TEST_F(TierLinkTest, AnotherVersionMeansStock) {
  auto hello = hello_record();
  hello.header.version = 9;
  say(hello);
  peer.reset();
  turn();
  EXPECT_THAT(link->powers(), IsEmpty());
  EXPECT_THAT(link->why_missing(TierPower::kProbe), HasSubstr("another version"));
}

TEST_F(TierLinkTest, GarbageIsCountedAndSkipped) {
  say_bytes(std::vector<std::byte>(7));
  say_bytes(std::vector<std::byte>(100, std::byte{0xff}));
  say_bytes(std::vector<std::byte>(4000, std::byte{1}));
  say_bytes({});
  auto cut = bytes_of(event_record(TierEventKind::kAttached));
  cut.pop_back();
  say_bytes(cut);
  EXPECT_EQ(link->bad_records(), 5U);
  auto event = event_record(TierEventKind::kSettled);
  event.header.dropped = 3;
  say(event);
  EXPECT_THAT(events, ElementsAre(TierEventKind::kSettled));
  EXPECT_EQ(link->dropped_records(), 3U);
  EXPECT_FALSE(link->closed());
}

TEST_F(TierLinkTest, ACommandIsAskedAndAnswered) {
  say(hello_record());
  const auto call = ask(TierOp::kWake, 1h, {.arena_only = true, .readers = 3, .chunk_bytes = 4096});
  const auto command = heard().value();
  EXPECT_EQ(command.header.magic, tier::kRecordMagic);
  EXPECT_EQ(command.header.length, sizeof command);
  EXPECT_EQ(command.op, TierOp::kWake);
  EXPECT_EQ(command.flags, tier::kArenaOnly);
  EXPECT_EQ(command.readers, 3);
  EXPECT_EQ(command.chunk_bytes, 4096U);
  EXPECT_EQ(link->running(), TierOp::kWake);
  say(reply_record(command.serial, TierOp::kWake));
  ASSERT_TRUE(call->result && *call->result);
  EXPECT_EQ((*call->result)->moved, 900U);
  EXPECT_FALSE(link->running());
}

TEST_F(TierLinkTest, ARefusalIsAnAnswer) {
  say(hello_record());
  const auto call = ask(TierOp::kHibernate);
  auto reply = reply_record(heard()->serial, TierOp::kHibernate);
  reply.reason = TierReason::kBusy;
  say(reply);
  EXPECT_FALSE((*call->result)->done());
  EXPECT_EQ((*call->result)->why, "the engine computed meanwhile");
  const auto again = ask(TierOp::kHibernate);
  reply.serial = heard()->serial;
  std::memcpy(reply.text, "Stopped.", 9);
  say(reply);
  EXPECT_EQ((*again->result)->why, "Stopped");
}

TEST_F(TierLinkTest, RepliesOfOthersAreNotTaken) {
  say(hello_record());
  say(reply_record(1, TierOp::kStatus));
  const auto call = ask(TierOp::kStatus);
  const auto serial = heard()->serial;
  say(reply_record(serial + 1, TierOp::kStatus));
  say(reply_record(serial, TierOp::kWake));
  EXPECT_FALSE(call->result);
  EXPECT_EQ(link->stray_replies(), 3U);
  say(reply_record(serial, TierOp::kStatus));
  EXPECT_TRUE(call->result);
}

TEST_F(TierLinkTest, OneAfterTheOther) {
  say(hello_record());
  const auto first = ask(TierOp::kStatus);
  const auto second = ask(TierOp::kHibernate);
  const auto serial = heard()->serial;
  EXPECT_FALSE(heard());
  say(reply_record(serial, TierOp::kStatus));
  EXPECT_TRUE(first->result);
  const auto next = heard().value();
  EXPECT_NE(next.serial, serial);
  say(reply_record(next.serial, TierOp::kHibernate));
  EXPECT_TRUE(second->result->has_value());
}

TEST_F(TierLinkTest, AWakeStopsAHibernateUnderWay) {
  say(hello_record());
  const auto sleep = ask(TierOp::kHibernate);
  const auto serial = heard()->serial;
  const auto wake = ask(TierOp::kWake);
  EXPECT_EQ(heard()->op, TierOp::kCancel);
  auto reply = reply_record(serial, TierOp::kHibernate);
  reply.reason = TierReason::kCancelled;
  say(reply);
  EXPECT_EQ((*sleep->result)->reason, TierReason::kCancelled);
  const auto command = heard().value();
  EXPECT_EQ(command.op, TierOp::kWake);
  say(reply_record(command.serial, TierOp::kWake));
  EXPECT_TRUE((*wake->result)->done());
}

TEST_F(TierLinkTest, CancelIsSentOnlyWhereItHelps) {
  say(hello_record());
  link->cancel();
  const auto status = ask(TierOp::kStatus);
  link->cancel();
  const auto command = heard().value();
  EXPECT_EQ(command.op, TierOp::kStatus);
  EXPECT_FALSE(heard());
  say(reply_record(command.serial, TierOp::kStatus));
  EXPECT_TRUE(status->result);
}

TEST_F(TierLinkTest, ASlowAnswerIsATimeoutAndComesTooLate) {
  say(hello_record());
  const auto slow = ask(TierOp::kWake, 20ms);
  const auto waiting = ask(TierOp::kStatus, -1ms);
  wait_for(waiting);
  EXPECT_THAT(waiting->result->error().message, HasSubstr("waited in vain for the wake command"));
  wait_for(slow);
  EXPECT_EQ(slow->result->error().code, ErrorCode::timeout);
  const auto serial = heard()->serial;
  EXPECT_EQ(heard()->op, TierOp::kCancel);
  const auto next = ask(TierOp::kStatus);
  const auto next_serial = heard()->serial;
  say(reply_record(serial, TierOp::kWake));
  EXPECT_FALSE(next->result);
  EXPECT_EQ(link->stray_replies(), 1U);
  say(reply_record(next_serial, TierOp::kStatus));
  EXPECT_TRUE(next->result->has_value());
}

TEST_F(TierLinkTest, ACallerThatLeavesStopsTheWork) {
  say(hello_record());
  const auto running = ask(TierOp::kHibernate);
  const auto waiting = ask(TierOp::kStatus);
  waiting->leave.emit(boost::asio::cancellation_type::terminal);
  turn();
  EXPECT_EQ(waiting->result->error().code, ErrorCode::cancelled);
  running->leave.emit(boost::asio::cancellation_type::terminal);
  turn();
  EXPECT_EQ(running->result->error().code, ErrorCode::cancelled);
  EXPECT_EQ(heard()->op, TierOp::kHibernate);
  EXPECT_EQ(heard()->op, TierOp::kCancel);
  EXPECT_FALSE(link->running());
}

TEST_F(TierLinkTest, TheEndInTheMiddleOfACommandIsAnError) {
  say(hello_record());
  const auto running = ask(TierOp::kHibernate);
  const auto waiting = ask(TierOp::kStatus);
  peer.reset();
  turn();
  EXPECT_TRUE(link->closed());
  EXPECT_EQ(running->result->error().code, ErrorCode::io);
  EXPECT_THAT(running->result->error().message, HasSubstr("closed the line"));
  EXPECT_EQ(waiting->result->error().code, ErrorCode::io);
  EXPECT_THAT(link->why_missing(TierPower::kWake), HasSubstr("line to the engine is closed"));
  EXPECT_EQ(ask(TierOp::kStatus)->result->error().code, ErrorCode::io);
}

TEST_F(TierLinkTest, WhatLiesInTheSocketCanBeTakenBeforeTheLoopSeesIt) {
  const auto bytes = bytes_of(span_record(TierSpanKind::kTokenize, 10, 20));
  ASSERT_GT(::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
  EXPECT_THAT(link->spans_within(base::Mono{}, base::Mono::max()), IsEmpty());
  link->catch_up();
  EXPECT_EQ(link->spans_within(base::Mono{}, base::Mono::max()).size(), 1U);
  peer.reset();
  link->catch_up();
  EXPECT_FALSE(link->closed());
  turn();
  EXPECT_TRUE(link->closed());
}

TEST_F(TierLinkTest, ClosingTakesWhatIsStillThere) {
  const auto bytes = bytes_of(event_record(TierEventKind::kPublished));
  ASSERT_GT(::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
  link->close();
  EXPECT_THAT(events, ElementsAre(TierEventKind::kPublished));
  EXPECT_TRUE(link->closed());
  turn();
}

TEST_F(TierLinkTest, SpansAreFoundByTheirTimeAndTheOldestAreForgotten) {
  const auto at = [](std::uint64_t ns) { return base::Mono(base::Duration(static_cast<std::int64_t>(ns))); };
  for (std::uint64_t i = 0; i < TierLink::kSpansKept + 10; ++i) {
    say(span_record(TierSpanKind::kProcess, i * 10, i * 10 + 5));
  }
  EXPECT_THAT(link->spans_within(at(0), at(100)), IsEmpty());
  const auto found = link->spans_within(at(1004), at(1025));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found.front().begin, at(1000));
  EXPECT_EQ(found.back().begin, at(1020));
  EXPECT_EQ(link->spans_within(at(0), base::Mono::max()).size(), TierLink::kSpansKept);
}

}  // namespace
}  // namespace hearth::engine
