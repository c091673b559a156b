#pragma once
// One running engine process: its output drained into a LogTail, its end awaited, its exit status taken.
//
// Thread: the I/O thread. Lifetime: run() once, as a task of a group that is joined before the child goes. Destroying a
// child whose run() has not returned kills its group; the kernel then gives the status to nobody until this process
// ends.
#include <boost/asio/posix/stream_descriptor.hpp>
#include <optional>
#include <string>

#include "base/clock.h"
#include "engine/log_tail.h"
#include "rt/asio.h"
#include "rt/notice.h"
#include "sys/processes.h"

namespace hearth::engine {

class Child {
 public:
  // `processes` outlives the child.
  Child(const boost::asio::any_io_executor& executor, sys::Processes& processes, sys::SpawnedProcess process);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns when the process has ended, whatever else was in its group is killed, all that they said is read (or
  // nothing more came within a second of the end), and the status is taken. Not to be cancelled.
  [[nodiscard]] rt::Task<void> run();
  [[nodiscard]] bool ended() const { return ended_; }
  // True once ended; false at the deadline or when cancelled.
  [[nodiscard]] rt::Task<bool> wait_ended(base::Mono deadline);

  // To the process itself. A process that has ended is not an error.
  [[nodiscard]] base::Status signal(int signal_number);
  // To all of its group; nothing once it has ended.
  [[nodiscard]] base::Status signal_group(int signal_number);

  [[nodiscard]] const sys::ProcessIdentity& identity() const { return identity_; }
  [[nodiscard]] const LogTail& log() const { return log_; }
  // By a fault of its own: a bad access, an abort, a bad instruction. REQUIRES: ended.
  [[nodiscard]] bool crashed() const;
  // "exited with status 1: failed to load model …", "was killed by signal 9 (Killed), perhaps because memory ran out".
  // REQUIRES: ended.
  [[nodiscard]] std::string how_it_ended() const;

 private:
  rt::Task<void> drain();
  rt::Task<void> await_exit();

  sys::Processes& processes_;
  sys::ProcessIdentity identity_;
  base::Fd pidfd_;  // for signals and the status; the one below is Asio's
  boost::asio::posix::stream_descriptor exit_;
  boost::asio::posix::stream_descriptor output_;
  LogTail log_;
  rt::Notice changed_;
  std::optional<sys::ExitStatus> status_;
  bool killed_by_us_ = false;
  bool drained_ = false;
  bool ended_ = false;
};

}  // namespace hearth::engine
