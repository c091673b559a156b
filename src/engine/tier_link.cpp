#include "engine/tier_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/scope_exit.h"

namespace hearth::engine {

using base::ErrorCode;

namespace {

constexpr int kSocketBuffer = 1 << 20;  // asked for; the system gives what it allows
constexpr int kTurn = 256;              // records read before others get their turn
constexpr int kLastTurns = 64;          // and read at the end, far more than a socket holds

std::uint32_t flags_of(const TierOptions& options) {
  return (options.arena_only ? tier::kArenaOnly : 0U) | (options.only_mark ? tier::kOnlyMark : 0U) |
         (options.on_fault ? tier::kOnFault : 0U);
}

std::optional<TierPower> power_for(TierOp op) {
  // Status has no power of its own; like hibernate it needs no more than the library's thread.
  if (op == TierOp::kHibernate || op == TierOp::kStatus) return TierPower::kHibernate;
  if (op == TierOp::kWake) return TierPower::kWake;
  if (op == TierOp::kPin || op == TierOp::kUnpin) return TierPower::kPin;
  return std::nullopt;
}

// An empty packet and the end look alike to recv.
bool hung_up(int fd) {
  pollfd source{fd, POLLIN | POLLRDHUP, 0};
  return ::poll(&source, 1, 0) > 0 && (source.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0;
}

std::string subject(TierOp op) { return "the engine's " + std::string(name_of(op)) + " command"; }

}  // namespace

base::Result<TierPair> TierLink::make() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return base::fail_errno("making the line to the engine", errno);
  }
  // What one end may have under way is its own send buffer; a smaller one only drops records sooner.
  (void)::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &kSocketBuffer, sizeof kSocketBuffer);
  return TierPair{base::Fd(ends[0]), base::Fd(ends[1])};
}

TierLink::TierLink(const boost::asio::any_io_executor& executor, base::Fd ours)
    : socket_(executor, ours.release()), changed_(executor) {}

rt::Task<void> TierLink::run() {
  const base::ScopeExit end([this] { close(); });
  for (;;) {
    const auto found = closed_ ? Drained::ended : drain();
    if (found == Drained::ended) co_return;
    const auto [error] = co_await socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read, rt::kTuple);
    if (error) co_return;
  }
}

void TierLink::close() {
  if (closed_) return;
  for (int i = 0; i < kLastTurns && drain() == Drained::more; ++i) {
  }
  closed_ = true;
  boost::system::error_code ignored;  // the descriptor is gone either way
  socket_.close(ignored);
  changed_.notify_all();
}

TierLink::Drained TierLink::drain() {
  alignas(std::uint64_t) std::array<std::byte, tier::kMaxRecordBytes> buffer;
  for (int i = 0; i < kTurn; ++i) {
    // MSG_TRUNC makes the length that of the packet, also where it did not fit.
    const auto length = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return errno == EAGAIN ? Drained::waiting : Drained::ended;
    if (length == 0 && hung_up(socket_.native_handle())) return Drained::ended;
    const auto bytes = static_cast<std::size_t>(length);
    if (bytes == 0 || bytes > buffer.size())
      ++bad_records_;
    else
      take(std::span(buffer).first(bytes));
  }
  return Drained::more;
}

void TierLink::take(std::span<const std::byte> packet) {
  auto record = read_tier_record(packet);
  if (!record) {
    ++bad_records_;
    return;
  }
  tier::RecordHeader header;
  std::memcpy(&header, packet.data(), sizeof header);
  dropped_records_ = std::max<std::uint64_t>(dropped_records_, header.dropped);
  std::visit([this](auto&& one) { take(std::forward<decltype(one)>(one)); }, std::move(*record));
}

// The first counts: it is sent before any code of the model's makers could run.
void TierLink::take(const TierHello& hello) {
  if (hello_)
    ++bad_records_;
  else
    hello_ = hello;
  changed_.notify_all();
}

void TierLink::take(const TierSpan& span) {
  spans_.push_back(span);
  if (spans_.size() > kSpansKept) spans_.pop_front();
}

void TierLink::take(const TierEvent& event) {
  if (on_event_) on_event_(event);
}

void TierLink::take(TierReply reply) {
  if (awaited_ == 0 || reply.serial != awaited_ || reply.op != running_) {
    ++stray_replies_;
    return;
  }
  awaited_ = 0;
  reply_ = std::move(reply);
  changed_.notify_all();
}

std::vector<TierPower> TierLink::powers() const {
  std::vector<TierPower> found;
  for (unsigned i = 0; i < tier::kPowerCount; ++i) {
    if (has(static_cast<TierPower>(i))) found.push_back(static_cast<TierPower>(i));
  }
  return found;
}

std::string TierLink::why_missing(TierPower power) const {
  if (has(power)) return {};
  const std::string start = std::string(name_of(power)) + " is missing: ";
  if (!hello_) {
    return start +
           "libhearth_tier.so did not speak up in the engine, which is linked statically or whose loader ignores "
           "preloaded libraries";
  }
  const auto reason = hello_->reasons[static_cast<unsigned>(power)];
  if (reason == TierReason::kNone) return start + "the line to the engine is closed";
  return start + describe(reason);
}

// An end that it meets is run()'s to handle, which meets it too.
void TierLink::catch_up() {
  if (!closed_) (void)drain();
}

std::vector<TierSpan> TierLink::spans_within(base::Mono begin, base::Mono end) const {
  std::vector<TierSpan> found;
  std::ranges::copy_if(spans_, std::back_inserter(found),
                       [&](const TierSpan& span) { return span.begin < end && span.end > begin; });
  std::ranges::stable_sort(found, {}, &TierSpan::end);
  return found;
}

base::Status TierLink::check(TierOp op) const {
  if (closed_) return base::fail(ErrorCode::io, subject(op) + " cannot be given: the line to the engine is closed");
  if (!hello_) return base::fail(ErrorCode::unsupported, why_missing(power_for(op).value_or(TierPower::kProbe)));
  const auto power = power_for(op);
  if (power && !has(*power)) return base::fail(ErrorCode::unsupported, why_missing(*power));
  return {};
}

// False of Notice means the deadline or a cancelled caller; who was cancelled must not wait again.
rt::Task<base::Status> TierLink::wait_for_turn(TierOp op, base::Mono deadline) {
  while (running_ && !closed_) {
    if (op == TierOp::kWake && running_ == TierOp::kHibernate) cancel();
    if (co_await changed_.wait_until(deadline)) continue;
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    if (state.cancelled() != boost::asio::cancellation_type::none) {
      co_return base::fail(ErrorCode::cancelled, subject(op) + " was cancelled before its turn");
    }
    if (running_) {
      co_return base::fail(ErrorCode::timeout, subject(op) + " waited in vain for the " +
                                                   std::string(name_of(*running_)) + " command to end");
    }
  }
  co_return base::Status{};
}

rt::Task<base::Result<TierReply>> TierLink::command(TierOp op, TierOptions options, base::Mono deadline) {
  if (auto possible = check(op); !possible) co_return std::unexpected(std::move(possible.error()));
  auto turn = co_await wait_for_turn(op, deadline);
  if (!turn) co_return std::unexpected(std::move(turn.error()));
  if (auto possible = check(op); !possible) co_return std::unexpected(std::move(possible.error()));
  co_return co_await exchange(op, options, deadline);
}

rt::Task<base::Result<TierReply>> TierLink::exchange(TierOp op, TierOptions options, base::Mono deadline) {
  if (++last_serial_ == 0) ++last_serial_;
  if (auto sent = send(op, last_serial_, options); !sent) co_return std::unexpected(std::move(sent.error()));
  running_ = op;
  awaited_ = last_serial_;
  reply_.reset();
  const base::ScopeExit end([this] {
    running_.reset();
    awaited_ = 0;
    changed_.notify_all();
  });
  while (!reply_) {
    if (closed_) co_return base::fail(ErrorCode::io, subject(op) + " got no answer: the engine closed the line");
    if (co_await changed_.wait_until(deadline) || reply_) continue;
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    cancel();
    if (state.cancelled() != boost::asio::cancellation_type::none) {
      co_return base::fail(ErrorCode::cancelled, subject(op) + " was cancelled");
    }
    co_return base::fail(ErrorCode::timeout, subject(op) + " got no answer in time");
  }
  co_return std::move(*reply_);
}

void TierLink::cancel() {
  if (running_ != TierOp::kHibernate && running_ != TierOp::kWake) return;
  // Not sent means not cancelled: the command then ends by itself.
  (void)send(TierOp::kCancel, awaited_, {});
}

base::Status TierLink::send(TierOp op, std::uint32_t serial, const TierOptions& options) {
  tier::Command command{};
  command.header = {tier::kRecordMagic, static_cast<std::uint16_t>(tier::kProtocolVersion), tier::RecordType::kCommand,
                    sizeof command, 0};
  command.serial = serial;
  command.op = op;
  command.readers = options.readers;
  command.flags = flags_of(options);
  command.chunk_bytes = options.chunk_bytes;
  if (::send(socket_.native_handle(), &command, sizeof command, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    return base::fail_errno(subject(op) + " could not be given", errno);
  }
  return {};
}

}  // namespace hearth::engine
