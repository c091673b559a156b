#include "lab/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace hearth::lab {
namespace {

using domain::Json;

// Sums of binary fractions, cut where nobody looks any more.
double rounded(double value) { return std::round(value * 1e6) / 1e6; }

base::Result<std::vector<Contestant>> chosen(const std::vector<std::string>& names) {
  auto all = all_contestants();
  if (names.empty()) return all;
  std::vector<Contestant> some;
  for (const auto& name : names) {
    const auto found = std::ranges::find(all, name, &Contestant::name);
    if (found != all.end()) {
      some.push_back(*found);
      continue;
    }
    std::vector<std::string> known;
    std::ranges::transform(all, std::back_inserter(known), &Contestant::name);
    return base::fail(base::ErrorCode::bad_request, fmt::format("there is no policy \"{}\"; there are {}",
                                                                base::printable(name, 40), base::join(known, ", ")));
  }
  return some;
}

Json to_json(const ClassResult& result) {
  return {{"requests", result.requests},
          {"cold_starts", result.cold_starts},
          {"cold_start_s", rounded(result.cold_start_s)},
          {"queued_s", rounded(result.queued_s)},
          {"ttft_p50_s", rounded(result.ttft_p50_s)},
          {"ttft_p95_s", rounded(result.ttft_p95_s)},
          {"ttft_p99_s", rounded(result.ttft_p99_s)}};
}

base::Status add_run(Experiment& experiment, Runner& runner, const Trace& trace) {
  auto result = runner.run(trace);
  if (!result) return std::unexpected(std::move(result.error()));
  experiment.results.push_back(std::move(*result));
  return {};
}

Json measured_of(const TraceModel& model) {
  const MeasuredCosts& costs = *model.size.measured;
  Json rungs = Json::object();
  for (const auto& rung : costs.ladder.rungs())
    rungs[std::string(name_of(rung.rung))] = {{"bytes", rung.bytes.host()}, {"ready_s", rounded(rung.ready_s)}};
  return {{"model", model.id.text()},
          {"rungs", std::move(rungs)},
          {"first_token_s", rounded(costs.first_token_s)},
          {"prefill_per_s", rounded(costs.prefill_per_s)},
          {"decode_per_s", rounded(costs.decode_per_s)},
          {"sleep_s", rounded(costs.sleep_s)},
          {"stop_s", rounded(costs.stop_s)}};
}

std::string prewarm_text(const ReplayResult& result) {
  if (result.prewarms == 0) return "-";
  return fmt::format("{} ({} used)", result.prewarms, result.prewarm_hits);
}

std::string line_of(const ReplayResult& result) {
  const auto& voice = result.by_class[0];
  return fmt::format("{:<14} {:>9} {:>13.1f} {:>10.0f} {:>7} {:>7} {:>9.2f} {:>9} {:>18}\n", result.contestant,
                     result.cold_starts, result.cold_start_s, result.queued_s, result.loads, result.wakes,
                     voice.ttft_p95_s, result.voice_evicted_by_background, prewarm_text(result));
}

}  // namespace

const ReplayResult* Experiment::find(std::string_view contestant) const {
  const auto found = std::ranges::find(results, contestant, &ReplayResult::contestant);
  return found == results.end() ? nullptr : &*found;
}

base::Result<Experiment> run_experiment(const Trace& trace, std::uint64_t seed, const ExperimentOptions& options) {
  auto contestants = chosen(options.contestants);
  if (!contestants) return base::pass(contestants);
  Experiment experiment{.trace = trace.name,
                        .seed = seed,
                        .models = trace.models.size(),
                        .requests = trace.requests.size(),
                        .memory = options.memory};
  if (!trace.requests.empty()) experiment.days = static_cast<double>(trace.requests.back().at_ns) / 86'400e9;
  std::ranges::copy_if(trace.models, std::back_inserter(experiment.measured),
                       [](const TraceModel& model) { return model.size.measured.has_value(); });
  if (options.live != nullptr) {
    if (auto added = add_run(experiment, *options.live, trace); !added) return std::unexpected(added.error());
  }
  for (const Contestant& contestant : *contestants) {
    SimulatedRunner simulated({.contestant = contestant,
                               .memory = options.memory,
                               .costs = options.costs,
                               .config = options.config,
                               .warming = options.warming,
                               .schedules = options.schedules});
    if (auto added = add_run(experiment, simulated, trace); !added) return std::unexpected(added.error());
  }
  if (options.optimum && trace.models.size() <= kMostOptimumModels)
    experiment.optimum = offline_optimum(trace, options.memory, options.costs);
  return experiment;
}

Json to_json(const ReplayResult& result) {
  Json classes = Json::object();
  for (const auto service_class :
       {domain::ServiceClass::voice, domain::ServiceClass::interactive, domain::ServiceClass::background})
    classes[std::string(name_of(service_class))] = to_json(result.by_class[policy::index_of(service_class)]);
  return {{"policy", result.contestant},
          {"requests", result.requests},
          {"refused", result.refused},
          {"unfinished", result.unfinished},
          {"cold_starts", result.cold_starts},
          {"cold_start_s", rounded(result.cold_start_s)},
          {"queued_s", rounded(result.queued_s)},
          {"loads", result.loads},
          {"wakes", result.wakes},
          {"demotions", result.demotions},
          {"voice_evicted_by_background", result.voice_evicted_by_background},
          {"prewarms", {{"done", result.prewarms}, {"used", result.prewarm_hits}, {"wasted", result.prewarm_wasted}}},
          {"most_reserved", result.most_reserved.host()},
          {"broken_invariants", result.broken_invariants},
          {"classes", std::move(classes)}};
}

Json to_json(const Experiment& experiment) {
  Json results = Json::array();
  for (const auto& result : experiment.results)
    results.push_back(to_json(result));
  Json measured = Json::array();
  for (const auto& model : experiment.measured)
    measured.push_back(measured_of(model));
  Json optimum;
  if (experiment.optimum) {
    optimum = {{"cold_start_s", rounded(experiment.optimum->cold_start_s)},
               {"exact", experiment.optimum->exact},
               {"busy_periods", experiment.optimum->busy_periods}};
  }
  return {{"trace", experiment.trace},       {"seed", experiment.seed},          {"models", experiment.models},
          {"requests", experiment.requests}, {"days", rounded(experiment.days)}, {"memory", experiment.memory.host()},
          {"measured", std::move(measured)}, {"results", std::move(results)},    {"optimum", std::move(optimum)}};
}

Json to_json(const std::vector<Experiment>& experiments) {
  Json list = Json::array();
  for (const auto& experiment : experiments)
    list.push_back(to_json(experiment));
  return {{"experiments", std::move(list)}};
}

std::string text_of(const Experiment& experiment) {
  std::string text =
      fmt::format("{}, seed {}: {} requests of {} models in {:.1f} days, {} of memory\n", experiment.trace,
                  experiment.seed, experiment.requests, experiment.models, experiment.days, format(experiment.memory));
  text += fmt::format("{:<14} {:>9} {:>13} {:>10} {:>7} {:>7} {:>9} {:>9} {:>18}\n", "POLICY", "COLD", "COLD SECONDS",
                      "QUEUED S", "LOADS", "WAKES", "VOICE P95", "EVICTED", "PRE-WARMED");
  for (const auto& result : experiment.results)
    text += line_of(result);
  if (experiment.optimum) {
    text += fmt::format("{:<14} {:>9} {:>13.1f}   {}\n", "optimum", "", experiment.optimum->cold_start_s,
                        experiment.optimum->exact ? "(exact)" : "(a schedule that exists; the optimum is no worse)");
  }
  return text;
}

}  // namespace hearth::lab
