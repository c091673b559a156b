#pragma once
// Who serves a trace: the simulation, or a server that runs (outside of this module). Both tell the same figures.
#include <string>

#include "base/result.h"
#include "lab/replay.h"

namespace hearth::lab {

class Runner {
 public:
  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  virtual ~Runner() = default;

  // All of the trace, from its first request to its last answer. Errors: those of whoever serves it.
  [[nodiscard]] virtual base::Result<ReplayResult> run(const Trace& trace) = 0;
};

// Invented time, and the policies themselves. Never fails.
class SimulatedRunner final : public Runner {
 public:
  explicit SimulatedRunner(ReplaySetup setup) : setup_(std::move(setup)) {}
  [[nodiscard]] base::Result<ReplayResult> run(const Trace& trace) override { return replay(trace, setup_); }

 private:
  ReplaySetup setup_;
};

}  // namespace hearth::lab
