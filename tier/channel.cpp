#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os.h"

namespace hearth::tier {
namespace {

constinit Channel the_channel;

bool is_command(const Command& command, ssize_t length) {
  return length == static_cast<ssize_t>(sizeof command) && command.header.magic == kRecordMagic &&
         command.header.version == kProtocolVersion && command.header.type == RecordType::kCommand &&
         command.header.length == sizeof command;
}

}  // namespace

Channel& channel() { return the_channel; }

void copy_text(char* to, std::size_t size, const char* from) {
  const std::size_t length = from == nullptr ? 0 : ::strnlen(from, size - 1);
  if (length > 0) ::memcpy(to, from, length);
  to[length] = '\0';
}

bool Channel::open(int fd, bool verbose) {
  const os::ErrnoGuard guard;
  verbose_ = verbose;
  int type = 0;
  socklen_t length = sizeof type;
  if (fd < 0 || ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_SEQPACKET) return false;
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  fd_.store(fd, std::memory_order_release);
  return true;
}

// The number is kept open on purpose: another thread may be about to send, and a reused number would hit a stranger.
void Channel::close() {
  const os::ErrnoGuard guard;
  const int fd = fd_.exchange(-1, std::memory_order_acq_rel);
  if (fd >= 0) ::shutdown(fd, SHUT_RDWR);
}

void Channel::fill(RecordHeader& header, RecordType type, std::size_t length) {
  header = {kRecordMagic, static_cast<std::uint16_t>(kProtocolVersion), type, static_cast<std::uint32_t>(length),
            dropped_.load(std::memory_order_relaxed)};
}

void Channel::deliver(const void* record, std::size_t length) {
  const os::ErrnoGuard guard;
  const int fd = descriptor();
  if (fd < 0) return;
  ssize_t sent = 0;
  do
    sent = ::send(fd, record, length, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent < 0) dropped_.fetch_add(1, std::memory_order_relaxed);
}

void Channel::event(EventKind kind, Reason reason, std::uint32_t ordinal, std::uint64_t bytes, std::uint64_t count,
                    std::uint64_t ns, int error, const char* text) {
  Event event{};
  event.kind = kind;
  event.reason = reason;
  event.ordinal = ordinal;
  event.at_ns = os::now_ns();
  event.ns = ns;
  event.bytes = bytes;
  event.count = count;
  event.error = error;
  copy_text(event.text, sizeof event.text, text);
  send(event, RecordType::kEvent);
  if (!verbose_ || messages_.fetch_add(1, std::memory_order_relaxed) >= kMaxMessages) return;
  const os::ErrnoGuard guard;
  ::dprintf(STDERR_FILENO, "hearth tier: event %u reason %u buffer %d bytes %llu error %d %s\n",
            static_cast<unsigned>(kind), static_cast<unsigned>(reason), static_cast<int>(ordinal),
            static_cast<unsigned long long>(bytes), error, event.text);
}

bool Channel::receive(Command& command) {
  const os::ErrnoGuard guard;
  const int fd = descriptor();
  if (fd < 0) return false;
  const ssize_t got = ::recv(fd, &command, sizeof command, MSG_DONTWAIT | MSG_TRUNC);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) close();
  return got > 0 && is_command(command, got);
}

bool Channel::cancelled() {
  const os::ErrnoGuard guard;
  Command command{};
  const int fd = descriptor();
  if (fd < 0) return false;
  const ssize_t seen = ::recv(fd, &command, sizeof command, MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC);
  if (!is_command(command, seen) || command.op != Op::kCancel) return false;
  return receive(command);
}

}  // namespace hearth::tier
