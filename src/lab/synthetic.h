#pragma once
// Invented traces, the same for the same seed: how a household asks, and three harder patterns.
//
//   household  voice bursts in the morning and the evening, chat, work, nightly jobs, rare large models
//   popular    twelve models of one household of developers, popularity by Zipf's law, sessions with the time of day
//   timers     automations with periods from minutes to a day, with jitter, beside some people
//   bursty     self-exciting arrivals (Hawkes): every request makes more of the same model likely for some minutes
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "lab/trace.h"

namespace hearth::lab {

enum class Shape { household, popular, timers, bursty };
inline constexpr std::array kAllShapes = {Shape::household, Shape::popular, Shape::timers, Shape::bursty};
[[nodiscard]] std::string_view name_of(Shape shape);
[[nodiscard]] std::optional<Shape> shape_named(std::string_view name);

struct SyntheticOptions {
  Shape shape = Shape::household;
  std::uint64_t seed = 1;
  double days = 28;
  double intensity = 1;  // how much more often everybody asks
};

[[nodiscard]] Trace make_synthetic(const SyntheticOptions& options);

}  // namespace hearth::lab
