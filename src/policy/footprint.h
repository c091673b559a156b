#pragma once
// Bytes by place: host memory and each device. Plain arithmetic that never wraps below zero.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "base/bytes.h"

namespace hearth::policy {

inline constexpr std::size_t kMostDevices = 4;
inline constexpr std::size_t kPlaces = 1 + kMostDevices;
inline constexpr std::size_t kHost = 0;  // places 1… are devices, in the order in which the engine lists them

struct Footprint {
  std::array<base::Bytes, kPlaces> at{};

  [[nodiscard]] static Footprint host(base::Bytes bytes) { return Footprint{.at = {bytes}}; }
  [[nodiscard]] base::Bytes host() const { return at[kHost]; }
  [[nodiscard]] bool empty() const { return *this == Footprint{}; }
  // Everything, everywhere; for ratios and sentences.
  [[nodiscard]] base::Bytes total() const;
  [[nodiscard]] bool fits_in(const Footprint& room) const;

  Footprint& operator+=(const Footprint& more);
  friend Footprint operator+(Footprint left, const Footprint& right) { return left += right; }
  // Each place by itself, never below zero.
  [[nodiscard]] Footprint less(const Footprint& taken) const;
  [[nodiscard]] Footprint at_most(const Footprint& bound) const;
  [[nodiscard]] Footprint at_least(const Footprint& bound) const;

  friend bool operator==(const Footprint&, const Footprint&) = default;
};

// "1.4 GB", "1.4 GB and 512 MB on device 1"
[[nodiscard]] std::string format(const Footprint& footprint);

}  // namespace hearth::policy
