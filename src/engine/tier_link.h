#pragma once
// The daemon's end of the line to the library that is preloaded into one engine process (docs/tier.md).
//
// One AF_UNIX SOCK_SEQPACKET pair per engine: the daemon keeps one end, the engine inherits the other under a fixed
// number. run() reads the library's records; command() asks and waits. What the library says is checked (tier_types.h)
// and, where it is wrong, counted and skipped; whatever it does, the engine is as usable as a stock one.
//
// Thread: the I/O thread. Lifetime: run() once, as a task of a group that is joined before the link goes; command()
// keeps the link alive by its caller's pointer, so hold the shared pointer while a command runs.
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "engine/tier_types.h"
#include "rt/asio.h"
#include "rt/notice.h"

namespace hearth::engine {

struct TierPair {
  base::Fd ours;    // nonblocking
  base::Fd theirs;  // to be inherited; close it once the engine runs, or the end of the engine is never seen
};

// Of a command; what a command does not know is ignored by it.
struct TierOptions {
  bool arena_only = false;        // leave the engine's mapping of the model file alone
  bool only_mark = false;         // hibernate: nothing leaves now, but the weights go first when memory is short
  bool on_fault = false;          // pin: lock pages as they come in instead of reading all now
  std::uint16_t readers = 0;      // wake: reader threads, 0: the library's choice
  std::uint32_t chunk_bytes = 0;  // wake: bytes per call, 0: the library's choice
};

class TierLink {
 public:
  static constexpr std::size_t kSpansKept = 4096;

  // Both ends close-on-exec. Errors: of socketpair (too many open files).
  [[nodiscard]] static base::Result<TierPair> make();

  TierLink(const boost::asio::any_io_executor& executor, base::Fd ours);
  TierLink(const TierLink&) = delete;
  TierLink& operator=(const TierLink&) = delete;

  // Hears every event from here on, on the I/O thread. Must not throw, nor ask the link for a command. May be empty.
  void on_event(std::function<void(const TierEvent&)> handler) { on_event_ = std::move(handler); }

  // Returns when the other end is closed (the engine has ended, or the library stands aside), after close(), or when
  // cancelled; the link is closed then, and commands under way fail.
  [[nodiscard]] rt::Task<void> run();
  // Takes what still lies in the socket and closes it. For when the engine has ended but something of it holds the
  // socket.
  void close();

  // Carries out one command; several at a time wait for each other. A wake that finds a hibernate under way cancels it.
  // That the library refused or stopped half way is not an error: see TierReply::done. `op` is not kCancel.
  // Cancel: the library's work is cancelled too (hibernate and wake; the others are short or cannot be).
  // Errors: unsupported (no hello yet, or the power is missing: why_missing), timeout (the work is cancelled as above
  // and a late answer is dropped), cancelled, io (the link closed meanwhile or does not take the command).
  [[nodiscard]] rt::Task<base::Result<TierReply>> command(TierOp op, TierOptions options, base::Mono deadline);
  // Stops the running hibernate or wake, whoever asked for it: it answers with kCancelled. Nothing when none runs.
  void cancel();
  // What runs now.
  [[nodiscard]] std::optional<TierOp> running() const { return running_; }

  // Empty until the library has spoken, which is before the engine's main(): an engine that answers HTTP and has no
  // hello here runs as stock.
  [[nodiscard]] const std::optional<TierHello>& hello() const { return hello_; }
  [[nodiscard]] bool has(TierPower power) const { return !closed_ && hello_ && hello_->has(power); }
  // The powers that are there; none before the hello and after the end.
  [[nodiscard]] std::vector<TierPower> powers() const;
  // A sentence without a full stop; empty when the power is there.
  [[nodiscard]] std::string why_missing(TierPower power) const;

  // Takes what lies in the socket now, without waiting. Before spans_within: the library sends a span before the engine
  // answers, but the loop may see the answer first. Events are heard meanwhile.
  void catch_up();
  // Of the last kSpansKept those that overlap begin … end, in the order of their ends.
  [[nodiscard]] std::vector<TierSpan> spans_within(base::Mono begin, base::Mono end) const;

  [[nodiscard]] bool closed() const { return closed_; }
  // Records that were refused, answers that nobody waited for, and records that the library says it could not send.
  [[nodiscard]] std::uint64_t bad_records() const { return bad_records_; }
  [[nodiscard]] std::uint64_t stray_replies() const { return stray_replies_; }
  [[nodiscard]] std::uint64_t dropped_records() const { return dropped_records_; }

 private:
  enum class Drained { waiting, more, ended };
  Drained drain();
  void take(std::span<const std::byte> packet);
  void take(const TierHello& hello);
  void take(const TierSpan& span);
  void take(const TierEvent& event);
  void take(TierReply reply);
  base::Status check(TierOp op) const;
  rt::Task<base::Status> wait_for_turn(TierOp op, base::Mono deadline);
  rt::Task<base::Result<TierReply>> exchange(TierOp op, TierOptions options, base::Mono deadline);
  base::Status send(TierOp op, std::uint32_t serial, const TierOptions& options);

  boost::asio::posix::stream_descriptor socket_;
  std::function<void(const TierEvent&)> on_event_;
  std::optional<TierHello> hello_;
  std::deque<TierSpan> spans_;
  rt::Notice changed_;
  std::uint32_t last_serial_ = 0;
  std::optional<TierOp> running_;
  std::uint32_t awaited_ = 0;       // serial of the running command, 0: none
  std::optional<TierReply> reply_;  // to it
  std::uint64_t bad_records_ = 0;
  std::uint64_t stray_replies_ = 0;
  std::uint64_t dropped_records_ = 0;
  bool closed_ = false;
};

}  // namespace hearth::engine
