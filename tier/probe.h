// Times of the engine's own calls, sent as spans. Called from hooks on engine threads; never blocks.
#pragma once

#include <atomic>
#include <cstdint>

#include "protocol.h"

namespace hearth::tier {

/// Measures one call: construct before, done() after.
class SpanTimer {
 public:
  explicit SpanTimer(SpanKind kind);
  void done(std::int64_t count, std::int64_t result);
  [[nodiscard]] std::uint64_t begin() const { return begin_; }

 private:
  SpanKind kind_;
  std::uint64_t begin_;
};

void send_span(SpanKind kind, std::uint64_t begin_ns, std::uint64_t end_ns, std::int64_t count, std::int64_t result);

/// Computations begun so far, and whether one is running: tells a hibernate that the engine needs its weights.
[[nodiscard]] std::uint64_t computations();
[[nodiscard]] bool computing();

/// One computation, from construction to destruction.
class Computation {
 public:
  Computation();
  ~Computation();
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;
};

}  // namespace hearth::tier
