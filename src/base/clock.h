#pragma once
// Time. Stages are measured with one clock only, CLOCK_MONOTONIC (std::chrono::steady_clock on Linux); wall-clock
// instants are for people. Both come through `Clock`, so that tests own the time.
#include <chrono>
#include <string>

namespace hearth::base {

using Mono = std::chrono::steady_clock::time_point;
using Wall = std::chrono::system_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Mono now() const = 0;
  [[nodiscard]] virtual Wall wall() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Mono now() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] Wall wall() const override { return std::chrono::system_clock::now(); }
};

// Milliseconds as the API writes them, with fraction.
[[nodiscard]] double to_ms(Duration duration);
[[nodiscard]] Duration from_ms(double ms);
// RFC 3339, UTC, milliseconds: 2026-01-31T08:15:30.123Z
[[nodiscard]] std::string rfc3339(Wall instant);

}  // namespace hearth::base
