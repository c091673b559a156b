#pragma once
// Names for requests: 26 characters of lower-case Crockford base32, of which the first 10 are the wall clock's
// milliseconds and the last 16 are 80 random bits (the layout of a ULID). They sort by time, to the millisecond.
#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"

namespace hearth::timeline {

using IdRandom = std::array<std::uint8_t, 10>;

// Instants before 1970 count as 1970.
[[nodiscard]] std::string request_id(base::Wall at, const IdRandom& random);

// Random bits of the operating system. Thread-safe. Throws std::runtime_error when the system has none to give.
[[nodiscard]] IdRandom system_random();

// Thread: as its clock and its random source. The clock must outlive it.
class RequestIds {
 public:
  explicit RequestIds(const base::Clock& clock, std::function<IdRandom()> random = system_random)
      : clock_(clock), random_(std::move(random)) {}

  [[nodiscard]] std::string next() const { return request_id(clock_.wall(), random_()); }

 private:
  const base::Clock& clock_;
  std::function<IdRandom()> random_;
};

}  // namespace hearth::timeline
