#pragma once
// One experiment: a trace, an amount of memory, several ways of running the household, and what came of it; as JSON and
// as a table for people.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "domain/json.h"
#include "lab/optimum.h"
#include "lab/runner.h"

namespace hearth::lab {

struct ExperimentOptions {
  policy::Footprint memory = policy::Footprint::host(8'000'000'000);
  std::vector<std::string> contestants;  // by name; empty: all
  bool optimum = true;                   // also what somebody who knew the future could have done
  CostModel costs;
  policy::ResidencyConfig config;
  policy::WarmingConfig warming;
  std::vector<policy::Schedule> schedules;
  Runner* live = nullptr;  // serves the trace first, beside what is simulated; not owned
};

struct Experiment {
  std::string trace;
  std::uint64_t seed = 0;
  std::size_t models = 0;
  std::uint64_t requests = 0;
  double days = 0;
  policy::Footprint memory;
  std::vector<TraceModel> measured;  // those whose costs were measured
  std::vector<ReplayResult> results;
  std::optional<Optimum> optimum;

  [[nodiscard]] const ReplayResult* find(std::string_view contestant) const;
};

// Errors: bad_request for a contestant that there is not; those of the live runner.
[[nodiscard]] base::Result<Experiment> run_experiment(const Trace& trace, std::uint64_t seed,
                                                      const ExperimentOptions& options);

[[nodiscard]] domain::Json to_json(const ReplayResult& result);
[[nodiscard]] domain::Json to_json(const Experiment& experiment);
// {"experiments": […]}
[[nodiscard]] domain::Json to_json(const std::vector<Experiment>& experiments);
// A line for each contestant, beneath one that says what was replayed.
[[nodiscard]] std::string text_of(const Experiment& experiment);

}  // namespace hearth::lab
