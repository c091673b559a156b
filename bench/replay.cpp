// What the residency policies are worth: invented traces of a month, replayed through every way of running the
// household with the same memory and the measured costs of src/lab/costs.h.
//
//   replay [--seeds N] [--days N] [--memory SIZE] [--json FILE]
//
// Prints a line for each trace and seed, the bars, and whether each is met; exit status 1 when one is not. All is
// computed, so that two runs print the same; only the last bar measures time.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <iostream>

#include "base/bytes.h"
#include "lab/experiment.h"
#include "lab/synthetic.h"

namespace {

using namespace hearth;
using domain::Json;

struct Options {
  std::uint64_t seeds = 3;
  double days = 28;
  std::string memory = "10GB";
  std::string json;
  bool verbose = false;
};

// One trace with one seed, in the numbers that the bars speak of.
struct Line {
  const lab::Experiment* experiment = nullptr;
  double peer_lru = 0, peer_ttl = 0, lru = 0, hearth = 0, optimum = 0;  // cold-start seconds
  double voice_p95 = 0, peer_voice_p95 = 0;

  [[nodiscard]] double to_peers() const { return hearth / std::min(peer_lru, peer_ttl); }
  [[nodiscard]] double to_lru() const { return hearth / lru; }
  [[nodiscard]] double to_optimum() const { return hearth / optimum; }
  [[nodiscard]] double to_voice() const { return voice_p95 / peer_voice_p95; }
};

Line line_of(const lab::Experiment& experiment) {
  const auto cold = [&experiment](std::string_view name) { return experiment.find(name)->cold_start_s; };
  const auto voice = [&experiment](std::string_view name) { return experiment.find(name)->by_class[0].ttft_p95_s; };
  // The better of the exact search and the rule that looks ahead: both know the future, neither warms.
  const double optimum = std::min(experiment.optimum->cold_start_s, cold("offline"));
  return {.experiment = &experiment,
          .peer_lru = cold("peer-lru"),
          .peer_ttl = cold("peer-ttl"),
          .lru = cold("lru"),
          .hearth = cold("hearth"),
          .optimum = optimum,
          .voice_p95 = voice("hearth"),
          .peer_voice_p95 = voice("peer-lru")};
}

struct Bar {
  std::string what;
  double limit = 0;
  double value = 0;
  [[nodiscard]] bool met() const { return value <= limit; }
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<double> each(const std::vector<Line>& lines, double (Line::*ratio)() const) {
  std::vector<double> values;
  std::ranges::transform(lines, std::back_inserter(values), [ratio](const Line& line) { return (line.*ratio)(); });
  return values;
}

double worst(const std::vector<Line>& lines, double (Line::*ratio)() const) {
  return std::ranges::max(each(lines, ratio));
}

// The second smallest, over the traces, of the ratio to the optimum with that trace's worst seed.
double second_best_to_optimum(const std::vector<Line>& lines) {
  std::map<std::string, double> by_trace;
  for (const Line& line : lines) {
    auto& value = by_trace[line.experiment->trace];
    value = std::max(value, line.to_optimum());
  }
  std::vector<double> values;
  for (const auto& [trace, value] : by_trace)
    values.push_back(value);
  std::ranges::sort(values);
  return values.at(1);
}

double sum_of(const std::vector<lab::Experiment>& experiments, std::uint64_t lab::ReplayResult::*count) {
  std::uint64_t sum = 0;
  for (const auto& experiment : experiments)
    sum += experiment.find("hearth")->*count;
  return static_cast<double>(sum);
}

std::vector<lab::Experiment> run_all(const Options& options, base::Bytes memory) {
  lab::ExperimentOptions experiment_options;
  experiment_options.memory = policy::Footprint::host(memory);
  std::vector<lab::Experiment> experiments;
  for (const lab::Shape shape : lab::kAllShapes) {
    for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) {
      const auto trace = lab::make_synthetic({.shape = shape, .seed = seed, .days = options.days});
      experiments.push_back(lab::run_experiment(trace, seed, experiment_options).value());
      if (options.verbose) std::cout << lab::text_of(experiments.back()) << std::endl;
    }
  }
  return experiments;
}

// Seconds for a million requests: a household that asks a hundred times as often.
double million_requests(base::Bytes memory) {
  auto trace = lab::make_synthetic({.shape = lab::Shape::household, .seed = 1, .days = 120, .intensity = 40});
  if (trace.requests.size() < 1'000'000) return -1;
  trace.requests.resize(1'000'000);
  lab::ExperimentOptions options{.memory = policy::Footprint::host(memory), .contestants = {"hearth"}};
  options.optimum = false;
  const auto begin = std::chrono::steady_clock::now();
  const auto experiment = lab::run_experiment(trace, 1, options);
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return experiment->results.front().requests == 1'000'000 ? took : -1;
}

// Bytes in which two runs of the same seed differ; they should be none.
double difference(const Options& options, base::Bytes memory) {
  Options one = options;
  one.seeds = 1;
  one.verbose = false;
  return lab::to_json(run_all(one, memory)).dump() == lab::to_json(run_all(one, memory)).dump() ? 0 : 1;
}

std::vector<Bar> bars_of(const std::vector<lab::Experiment>& experiments, const std::vector<Line>& lines,
                         const Options& options, base::Bytes memory) {
  double million = million_requests(memory);
  if (million < 0) million = std::numeric_limits<double>::infinity();
  return {
      {"cold-start seconds / the better peer, worst", 0.25, worst(lines, &Line::to_peers)},
      {"cold-start seconds / LRU with all layers, median", 0.85, median(each(lines, &Line::to_lru))},
      {"cold-start seconds / LRU with all layers, worst", 1.05, worst(lines, &Line::to_lru)},
      {"cold-start seconds / optimum, second best trace", 1.25, second_best_to_optimum(lines)},
      {"voice p95 to first token / peers' LRU, worst", 0.20, worst(lines, &Line::to_voice)},
      {"voice models demoted for background", 0, sum_of(experiments, &lab::ReplayResult::voice_evicted_by_background)},
      {"rules broken (victim in use, memory exceeded)", 0, sum_of(experiments, &lab::ReplayResult::broken_invariants)},
      {"requests never answered", 0, sum_of(experiments, &lab::ReplayResult::unfinished)},
      {"two runs of one seed differ", 0, difference(options, memory)},
      {"a million requests, seconds", 20, million}};
}

std::string text_of(const std::vector<Line>& lines) {
  std::string text = fmt::format("{:<10} {:>4} {:>8} {:>9} {:>9} {:>8} {:>8} {:>8} {:>7} {:>7} {:>8} {:>9}\n", "TRACE",
                                 "SEED", "REQUESTS", "PEER LRU", "PEER TTL", "LRU", "HEARTH", "OPTIMUM", "/PEERS",
                                 "/LRU", "/OPTIMUM", "VOICE P95");
  for (const Line& line : lines) {
    text += fmt::format(
        "{:<10} {:>4} {:>8} {:>9.0f} {:>9.0f} {:>8.0f} {:>8.0f} {:>8.0f} {:>7.3f} {:>7.3f} {:>8.3f} {:>9.3f}\n",
        line.experiment->trace, line.experiment->seed, line.experiment->requests, line.peer_lru, line.peer_ttl,
        line.lru, line.hearth, line.optimum, line.to_peers(), line.to_lru(), line.to_optimum(), line.to_voice());
  }
  return text;
}

Json to_json(const std::vector<Bar>& bars) {
  Json list = Json::array();
  for (const Bar& bar : bars)
    list.push_back({{"bar", bar.what}, {"limit", bar.limit}, {"value", bar.value}, {"met", bar.met()}});
  return list;
}

int run(const Options& options, base::Bytes memory) {
  const auto experiments = run_all(options, memory);
  std::vector<Line> lines;
  std::ranges::transform(experiments, std::back_inserter(lines), line_of);
  std::cout << fmt::format("{} days, {} of memory; seconds of cold starts\n", options.days, base::format_bytes(memory))
            << text_of(lines) << "\n";
  const auto bars = bars_of(experiments, lines, options, memory);
  bool all = true;
  for (const Bar& bar : bars) {
    std::cout << fmt::format("{:<50} {:>8.3f} (at most {}) {}\n", bar.what, bar.value, bar.limit,
                             bar.met() ? "met" : "NOT MET");
    all = all && bar.met();
  }
  if (!options.json.empty()) {
    Json document = lab::to_json(experiments);
    document["bars"] = to_json(bars);
    std::ofstream(options.json) << document.dump(2) << "\n";
  }
  return all ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What the residency policies are worth, in replay");
  Options options;
  app.add_option("--seeds", options.seeds, "seeds per trace")->check(CLI::Range(1, 1000));
  app.add_option("--days", options.days, "length of each trace")->check(CLI::Range(0.1, 3650.0));
  app.add_option("--memory", options.memory, "for every way of running the household");
  app.add_option("--json", options.json, "file for all figures");
  app.add_flag("--verbose", options.verbose, "print every way of running each trace");
  CLI11_PARSE(app, argc, argv);
  const auto memory = base::parse_bytes(options.memory);
  if (!memory) {
    std::cerr << memory.error().message << "\n";
    return 2;
  }
  return run(options, *memory);
}
