#include "protocol.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "channel.h"

namespace hearth::tier {
namespace {

class ChannelTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_), 0);
    ASSERT_TRUE(channel_.open(ends_[0], false));
  }
  void TearDown() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  [[nodiscard]] Command command(Op op) const {
    Command command{};
    command.header = {kRecordMagic, kProtocolVersion, RecordType::kCommand, sizeof command, 0};
    command.serial = 9;
    command.op = op;
    return command;
  }
  template <typename Record>
  void give(const Record& record, std::size_t bytes = sizeof(Record)) const {
    ASSERT_EQ(::send(ends_[1], &record, bytes, 0), static_cast<ssize_t>(bytes));
  }
  int ends_[2] = {-1, -1};
  Channel channel_;
};

TEST_F(ChannelTest, TakesOnlySeqpacketSockets) {
  Channel other;
  int stream[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, stream), 0);
  EXPECT_FALSE(other.open(stream[0], false));
  EXPECT_FALSE(other.open(-1, false));
  EXPECT_FALSE(other.open(1 << 20, false));
  ::close(stream[0]);
  ::close(stream[1]);
}

TEST_F(ChannelTest, IsNotInherited) { EXPECT_NE(::fcntl(ends_[0], F_GETFD) & FD_CLOEXEC, 0); }

TEST_F(ChannelTest, EventsArriveWhole) {
  channel_.event(EventKind::kAttached, Reason::kNone, 3, 100, 5, 7, 2, "CPU_REPACK");
  Event event{};
  ASSERT_EQ(::recv(ends_[1], &event, sizeof event, MSG_TRUNC), static_cast<ssize_t>(sizeof event));
  EXPECT_EQ(event.header.magic, kRecordMagic);
  EXPECT_EQ(event.header.length, sizeof event);
  EXPECT_EQ(event.header.type, RecordType::kEvent);
  EXPECT_EQ(event.ordinal, 3U);
  EXPECT_EQ(event.bytes, 100U);
  EXPECT_STREQ(event.text, "CPU_REPACK");
}

TEST_F(ChannelTest, LongTextIsCut) {
  const std::string text(500, 'x');
  channel_.event(EventKind::kAttached, Reason::kNone, 0, 0, 0, 0, 0, text.c_str());
  Event event{};
  ASSERT_GT(::recv(ends_[1], &event, sizeof event, 0), 0);
  EXPECT_EQ(std::strlen(event.text), sizeof event.text - 1);
}

TEST_F(ChannelTest, AFullSocketDropsAndCounts) {
  Event event{};
  for (int i = 0; i < 100'000; ++i)
    channel_.event(EventKind::kAttached, Reason::kNone, 0, 0);
  while (::recv(ends_[1], &event, sizeof event, MSG_DONTWAIT) > 0) {
  }
  channel_.event(EventKind::kAttached, Reason::kNone, 0, 0);
  ASSERT_GT(::recv(ends_[1], &event, sizeof event, 0), 0);
  EXPECT_GT(event.header.dropped, 0U);
}

TEST_F(ChannelTest, CommandsAreChecked) {
  Command got{};
  EXPECT_FALSE(channel_.receive(got));
  give(command(Op::kWake));
  ASSERT_TRUE(channel_.receive(got));
  EXPECT_EQ(got.serial, 9U);
  Command wrong = command(Op::kWake);
  wrong.header.version = 2;
  give(wrong);
  EXPECT_FALSE(channel_.receive(got));
  wrong = command(Op::kWake);
  wrong.header.magic = 1;
  give(wrong);
  EXPECT_FALSE(channel_.receive(got));
  give(command(Op::kWake), sizeof(Command) - 1);
  EXPECT_FALSE(channel_.receive(got));
  const char noise[300] = {};
  give(noise);
  EXPECT_FALSE(channel_.receive(got));
  give(command(Op::kPin));
  EXPECT_TRUE(channel_.receive(got));
}

TEST_F(ChannelTest, CancelIsSeenOnlyWhenItIsNext) {
  Command got{};
  EXPECT_FALSE(channel_.cancelled());
  give(command(Op::kStatus));
  give(command(Op::kCancel));
  EXPECT_FALSE(channel_.cancelled());
  ASSERT_TRUE(channel_.receive(got));
  EXPECT_EQ(got.op, Op::kStatus);
  EXPECT_TRUE(channel_.cancelled());
  EXPECT_FALSE(channel_.cancelled());
}

TEST_F(ChannelTest, ADaemonThatLeavesIsNoticedAndSendingGoesNowhere) {
  ::shutdown(ends_[1], SHUT_RDWR);
  Command got{};
  EXPECT_FALSE(channel_.receive(got));
  EXPECT_EQ(channel_.descriptor(), -1);
  channel_.event(EventKind::kAttached, Reason::kNone, 0, 0);
}

TEST_F(ChannelTest, TheCallersErrnoIsKept) {
  ::shutdown(ends_[1], SHUT_RDWR);
  errno = 77;
  channel_.event(EventKind::kAttached, Reason::kNone, 0, 0);
  EXPECT_EQ(errno, 77);
}

}  // namespace
}  // namespace hearth::tier
