// The library's end of the socket, and the capped messages on stderr.
//
// Any thread may send. Sending never blocks and never allocates: a record the socket does not take is counted and the
// count travels in the next header. Errors are not returned: there is nobody to tell.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "protocol.h"

namespace hearth::tier {

class Channel {
 public:
  static constexpr int kMaxMessages = 32;

  /// True when `fd` is a socket; makes it close-on-exec. The channel does not own other descriptors.
  [[nodiscard]] bool open(int fd, bool verbose);
  void close();
  [[nodiscard]] int descriptor() const { return fd_.load(std::memory_order_acquire); }

  template <typename Record>
  void send(Record& record, RecordType type) {
    fill(record.header, type, sizeof record);
    deliver(&record, sizeof record);
  }

  /// An event with its time filled in. `text` may be null.
  void event(EventKind kind, Reason reason, std::uint32_t ordinal, std::uint64_t bytes, std::uint64_t count = 0,
             std::uint64_t ns = 0, int error = 0, const char* text = nullptr);

  /// Reads one command if there is one. False: none now, or the daemon is gone (then descriptor() is -1).
  [[nodiscard]] bool receive(Command& command);

  /// True when the next record waiting is a cancel; it is consumed.
  [[nodiscard]] bool cancelled();

 private:
  void fill(RecordHeader& header, RecordType type, std::size_t length);
  void deliver(const void* record, std::size_t length);

  std::atomic<int> fd_{-1};
  std::atomic<std::uint32_t> dropped_{0};
  std::atomic<int> messages_{0};
  bool verbose_ = false;
};

Channel& channel();

/// Copies and cuts to the field; always NUL-terminated.
void copy_text(char* to, std::size_t size, const char* from);

}  // namespace hearth::tier
