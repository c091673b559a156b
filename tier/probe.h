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

/// Which computations are told. A generated token is one computation; told one by one they would wake the daemon as
/// often as the engine speaks, on the processors that the engine computes with. Told are those that differ in their
/// token count from the one before (a prompt, and the first token after it), those that took kLong, and one in
/// kInterval of the rest.
class StepFilter {
 public:
  static constexpr std::uint64_t kLong = 20'000'000;       // ns
  static constexpr std::uint64_t kInterval = 500'000'000;  // ns
  [[nodiscard]] bool tells(std::int64_t count, std::uint64_t begin_ns, std::uint64_t end_ns);

 private:
  // Two contexts that compute at a time share one filter: at worst a span more is told, or one of a long run less.
  std::atomic<std::int64_t> last_count_{-2};
  std::atomic<std::uint64_t> last_told_{0};
};

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
