#pragma once
// xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021), seeded through splitmix64
// as its authors advise. Chosen over <random> for its speed and because its output is the same with every standard
// library.
#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

namespace hearth::make_model {

class Xoshiro {
 public:
  // One stream for each (seed, name), so that a tensor's bytes do not depend on the tensors before it.
  Xoshiro(std::uint64_t seed, std::string_view name) {
    std::uint64_t state = seed ^ fnv1a(name);
    for (auto& word : state_)
      word = splitmix(state);
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

 private:
  static std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text)
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
  }
  static std::uint64_t splitmix(std::uint64_t& state) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  std::array<std::uint64_t, 4> state_{};
};

}  // namespace hearth::make_model
