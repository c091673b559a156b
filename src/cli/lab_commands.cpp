#include <fmt/format.h>

#include <fstream>
#include <ostream>

#include "base/bytes.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/live_costs.h"
#include "cli/live_runner.h"
#include "lab/experiment.h"
#include "lab/importer.h"
#include "lab/report.h"
#include "lab/synthetic.h"

namespace hearth::cli {
namespace {

using base::ErrorCode;

constexpr std::chrono::milliseconds kLate{250};

std::unexpected<base::Error> cannot(std::string_view what, const std::filesystem::path& path) {
  return base::fail(ErrorCode::io, fmt::format("{} cannot be {}: {}", base::printable(path.string(), 200), what,
                                               std::generic_category().message(errno)));
}

base::Result<std::map<std::string, std::string>> names_of(const std::vector<std::string>& pairs) {
  std::map<std::string, std::string> names;
  for (const auto& pair : pairs) {
    const auto sign = pair.rfind('=');
    if (sign == std::string::npos || sign == 0 || sign + 1 == pair.size())
      return base::fail(ErrorCode::bad_request,
                        fmt::format("--map {} is not of the form NAME=MODEL", base::printable(pair, 80)));
    names[pair.substr(0, sign)] = pair.substr(sign + 1);
  }
  return names;
}

base::Result<lab::Imported> read_trace(const LabOptions& options, std::uint64_t seed) {
  auto names = names_of(options.names);
  if (!names) return base::pass(names);
  std::ifstream file(*options.trace);
  if (!file) return cannot("read", *options.trace);
  lab::ImportOptions import{.seed = seed, .speed = options.speed, .names = std::move(*names)};
  import.format = lab::trace_format_named(options.format).value_or(lab::TraceFormat::hearth);
  import.name = options.trace->stem().string();
  auto imported = lab::import_trace(file, import);
  if (!imported) return base::pass(imported, base::printable(options.trace->string(), 200));
  return imported;
}

base::Result<lab::Imported> make_trace(const LabOptions& options, std::uint64_t seed) {
  if (options.trace) return read_trace(options, seed);
  lab::SyntheticOptions synthetic{.seed = seed, .days = options.days, .intensity = options.intensity};
  synthetic.shape = lab::shape_named(options.shape).value_or(lab::Shape::household);
  return lab::Imported{.trace = lab::make_synthetic(synthetic)};
}

base::Status write_file(const std::filesystem::path& path, const auto& write) {
  std::ofstream file(path);
  if (file) write(file);
  file.flush();
  if (!file) return cannot("written", path);
  return {};
}

base::Status write_files(const LabOptions& options, const std::vector<lab::Experiment>& experiments,
                         const lab::Trace& last) {
  if (options.save) {
    auto done = write_file(*options.save, [&last](std::ostream& out) { lab::write_trace(out, last); });
    if (!done) return done;
  }
  if (!options.html) return {};
  return write_file(*options.html, [&experiments](std::ostream& out) { out << lab::html_report(experiments); });
}

void note_unread(Console& console, const lab::Imported& imported) {
  if (imported.skipped > 0)
    console.err << fmt::format("hearth: {} rows could not be read and were left out\n", imported.skipped);
}

void note_live(Console& console, const LiveRunner& runner) {
  if (!runner.first_failure().empty())
    console.err << fmt::format("hearth: not every request was answered; the first: {}\n",
                               base::printable(runner.first_failure(), 300));
  if (runner.latest() > kLate)
    console.err << fmt::format("hearth: requests were sent up to {:.1f} s late\n", base::to_ms(runner.latest()) / 1000);
}

// On the server as well, with its costs and its memory for what is simulated.
base::Result<lab::Experiment> run_live(lab::Trace& trace, std::uint64_t seed, lab::ExperimentOptions options,
                                       Console& console) {
  auto client = connect(console);
  if (!client) return base::pass(client);
  const LiveServer server(std::move(*client), console.pause);
  if (auto measured = measure_costs(server, trace, console); !measured) return std::unexpected(measured.error());
  auto memory = server.memory();
  if (!memory) return base::pass(memory);
  options.memory = policy::Footprint::host(memory->free);
  LiveRunner runner(server, memory->free + memory->reserved, console);
  options.live = &runner;
  auto experiment = lab::run_experiment(trace, seed, options);
  note_live(console, runner);
  const auto stopped = stop_all(server, trace);
  if (experiment && !stopped) return std::unexpected(stopped.error());
  return experiment;
}

}  // namespace

Outcome replay_trace(const Invocation& invocation, Console& console) {
  const LabOptions& options = invocation.lab;
  auto memory = base::parse_bytes(options.memory);
  if (!memory) return base::pass(memory, "--memory");
  lab::ExperimentOptions experiment_options{.contestants = options.policies};
  experiment_options.memory = policy::Footprint::host(*memory);
  std::vector<lab::Experiment> experiments;
  lab::Trace last;
  for (const std::uint64_t seed : options.seeds) {
    auto imported = make_trace(options, seed);
    if (!imported) return base::pass(imported);
    note_unread(console, *imported);
    auto experiment = options.live ? run_live(imported->trace, seed, experiment_options, console)
                                   : lab::run_experiment(imported->trace, seed, experiment_options);
    if (!experiment) return base::pass(experiment);
    if (!invocation.json) console.out << (experiments.empty() ? "" : "\n") << lab::text_of(*experiment);
    experiments.push_back(std::move(*experiment));
    last = std::move(imported->trace);
  }
  if (auto written = write_files(options, experiments, last); !written)
    return std::unexpected(std::move(written.error()));
  if (invocation.json) print_json(console, lab::to_json(experiments));  // a document stands for success
  return 0;
}

}  // namespace hearth::cli
