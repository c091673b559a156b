#pragma once
// A small generator whose numbers are the same everywhere for the same seed; the standard library's distributions are
// not. SplitMix64 (Steele, Lea, Flood 2014).
#include <cmath>
#include <cstdint>
#include <numbers>

namespace hearth::lab {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // In [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  std::uint64_t below(std::uint64_t bound) { return bits() % bound; }
  double exponential(double mean) { return -mean * std::log1p(-uniform()); }
  double normal() {
    const double radius = std::sqrt(-2 * std::log1p(-uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  double lognormal(double median, double sigma) { return median * std::exp(sigma * normal()); }
  // 1, 2, …: with this mean.
  std::uint64_t geometric(double mean) {
    if (mean <= 1) return 1;
    return 1 + static_cast<std::uint64_t>(std::log1p(-uniform()) / std::log1p(-1 / mean));
  }

 private:
  std::uint64_t state_;
};

}  // namespace hearth::lab
