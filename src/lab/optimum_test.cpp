#include "lab/optimum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "lab/random.h"
#include "lab/replay.h"
#include "lab/synthetic.h"

namespace hearth::lab {
namespace {

policy::Footprint memory_of(double gb) { return policy::Footprint::host(static_cast<base::Bytes>(gb * 1e9)); }

// Few models, each request alone: every way of holding them, tried.
double by_force(const Trace& trace, const policy::Footprint& memory) {
  const CostModel costs;
  std::vector<policy::Ladder> ladders;
  for (const auto& model : trace.models)
    ladders.push_back(layered(model.size, costs));
  const std::function<double(std::size_t, std::vector<std::size_t>)> least = [&](std::size_t next,
                                                                                 std::vector<std::size_t> held) {
    if (next == trace.requests.size()) return 0.0;
    const std::uint32_t model = trace.requests[next].model;
    const double cost = ladders[model].rungs()[held[model]].ready_s;
    held[model] = 0;
    double best = std::numeric_limits<double>::infinity();
    const std::function<void(std::size_t)> choose = [&](std::size_t from) {
      if (from == held.size()) {
        base::Bytes sum = 0;
        for (std::size_t i = 0; i < held.size(); ++i)
          sum += ladders[i].rungs()[held[i]].bytes.host();
        if (sum <= memory.host()) best = std::min(best, least(next + 1, held));
        return;
      }
      const std::size_t was = held[from];
      for (std::size_t rung = was; rung < 3 && (from != model || rung == 0); ++rung) {
        held[from] = rung;
        choose(from + 1);
      }
      held[from] = was;
    };
    choose(0);
    return cost + best;
  };
  return least(0, std::vector<std::size_t>(trace.models.size(), 2));
}

Trace random_trace(std::uint64_t seed) {
  Random random(seed);
  Trace trace{.name = "random"};
  for (int i = 0; i < 3; ++i) {
    trace.models.push_back({domain::ModelId::parse("m" + std::to_string(i)).value(),
                            domain::ServiceClass::interactive,
                            {random.between(0.3, 2), random.between(0.05, 0.4), 0.1}});
  }
  for (int i = 0; i < 6; ++i)
    trace.requests.push_back({i * 100'000'000'000LL, static_cast<std::uint32_t>(random.below(3)), 0, 0, 1});
  return trace;
}

TEST(Optimum, IsWhatTryingEverythingFinds) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Trace trace = random_trace(seed);
    const auto memory = memory_of(3);
    const auto optimum = offline_optimum(trace, memory, {});
    EXPECT_TRUE(optimum.exact);
    EXPECT_NEAR(optimum.cold_start_s, by_force(trace, memory), 1e-9) << "seed " << seed;
  }
}

TEST(Optimum, NobodyWhoLoadsOnDemandIsBetter) {
  for (const Shape shape : kAllShapes) {
    const Trace trace = make_synthetic({.shape = shape, .seed = 4, .days = 0.7});
    const auto optimum = offline_optimum(trace, memory_of(9), {});
    for (const auto& contestant : all_contestants()) {
      if (!contestant.layers || contestant.warming) continue;
      const auto result = replay(trace, {.contestant = contestant, .memory = memory_of(9)});
      EXPECT_GE(result.cold_start_s, optimum.cold_start_s * 0.999) << contestant.name << " " << trace.name;
    }
  }
}

TEST(Optimum, IsDearerButLawfulWhenCutShort) {
  const Trace trace = make_synthetic({.shape = Shape::bursty, .seed = 4, .days = 1});
  const auto whole = offline_optimum(trace, memory_of(7.5), {});
  const auto cut = offline_optimum(trace, memory_of(7.5), {}, 3);
  EXPECT_FALSE(cut.exact);
  EXPECT_GE(cut.cold_start_s, whole.cold_start_s);
}

}  // namespace
}  // namespace hearth::lab
