#pragma once
// Engines that outlived the server that started them, found by records on disk and ended, each only if it is provably
// ours.
//
// The parent-death signal already ends engines with their server; this is for what slips through (a server killed
// between fork and the signal's request, a kernel that refused it, a copied set-uid engine). One record per running
// engine: <folder>/<name>.json = {"version": 1, "pid", "start_ticks", "boot_id", "argv0", "socket"}, replaced in one
// step, never half there. It need not survive a power loss: no process does.
//
// A record's process is ours if the process that has its pid now began at the same clock tick of the same boot.
// Anything else, a pid given again above all, is left alone and only the record goes. A record that cannot be
// understood goes too.
#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "sys/files.h"
#include "sys/processes.h"

namespace hearth::engine {

struct EngineRecord {
  sys::ProcessIdentity identity;
  std::string argv0;
  std::string socket;  // its Unix socket, in the same folder as the record
};

[[nodiscard]] base::Status write_record(sys::Files& files, const std::string& path, const EngineRecord& record);
// Errors: those of reading; corrupt when it is not a record of this version.
[[nodiscard]] base::Result<EngineRecord> read_record(const sys::Files& files, const std::string& path);

struct Reaped {
  std::string record;  // the record's file name
  enum class Fate {
    killed,      // it was ours and still ran
    gone,        // no such process any more; or another has its pid, untouched
    unreadable,  // no record that we understand; nothing was touched but the file
    stuck,       // ours, killed, and not ended in time; the record stays for the next server
  } fate = Fate::gone;
  std::string why;  // one sentence for the log
};

// Ends the engines of an earlier server and removes their records and sockets. Call it at start, before any engine is
// started, while holding the lock that makes this the only server on the folder. Blocks, for at most `patience` in all.
// Errors: only when the folder cannot be listed (not found is fine: nothing to do).
[[nodiscard]] base::Result<std::vector<Reaped>> reap_leftovers(
    sys::Files& files, sys::Processes& processes, const std::string& folder,
    std::chrono::milliseconds patience = std::chrono::seconds(5));

}  // namespace hearth::engine
