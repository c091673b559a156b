#pragma once
// Random weights, written directly in the layout of their type: no float is ever quantised, so it is as fast as the
// random bits.
//
// A weight's root mean square is close to 1 / sqrt(fan-in), so that activations keep their size from layer to layer and
// stay finite at any depth. Block layouts are ggml's:
//   q4_0  32 weights: f16 d, 16 bytes of nibbles (never 0);             w = d (q - 8)
//   q8_0  32 weights: f16 d, 32 signed bytes (never -128);              w = d q
//   q4_k  256 weights: f16 d, f16 dmin, 12 bytes that pack eight 6-bit scales and eight 6-bit minima, 128 bytes of
//   nibbles;
//         w = d scale q - dmin minimum, here with minimum = scale and dmin = 7.5 d, which centres them at 0
//   f16   sign and fraction random, exponent one of two
#include <cstddef>
#include <cstdint>
#include <span>

#include "tools/make_model/random.h"
#include "tools/make_model/shape.h"

namespace hearth::make_model {

// REQUIRES: `out` is a whole number of blocks of the type.
void fill_weights(WeightType type, std::uint64_t fan_in, Xoshiro& random, std::span<std::byte> out);

// Norm weights: f32 from 0.9 to 1.1. REQUIRES: `out` is a whole number of floats.
void fill_norm(Xoshiro& random, std::span<std::byte> out);

// IEEE half precision, rounded to nearest, ties to even. REQUIRES: 0 <= value < 65504.
[[nodiscard]] std::uint16_t to_half(float value);

}  // namespace hearth::make_model
