#include "cli/live_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "lab/observed.h"

namespace hearth::cli {
namespace {

using namespace std::chrono_literals;
using policy::Rung;

constexpr std::uint32_t kBrief = 8;           // tokens
constexpr std::uint32_t kLeastLengthy = 128;  // tokens
constexpr std::uint32_t kAnswer = 24;         // tokens
constexpr std::size_t kWakes = 5;             // of which the mean counts
constexpr auto kIdle = 1s;                    // a start on a machine that had something else to do
constexpr auto kAway = 5s;                    // between sleep and wake; memory that was free for long is slower to fill
constexpr auto kUntilMeasured = 2500ms;       // the server measures an engine that has been idle for a second
constexpr double kLeastSeconds = 0.001;       // of a rung that costs nothing to speak of

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Lengths of prompts, short and long ones, as the trace has them: what a wake costs depends on them.
std::vector<std::uint32_t> usual_prompts(const lab::Trace& trace, std::uint32_t model) {
  std::vector<std::uint32_t> tokens;
  for (const auto& request : trace.requests) {
    if (request.model == model) tokens.push_back(std::max(kBrief, request.prompt_tokens));
  }
  if (tokens.empty()) tokens.push_back(kLeastLengthy);
  std::ranges::sort(tokens);
  std::vector<std::uint32_t> some;
  for (std::size_t part = 0; part < kWakes; ++part)
    some.push_back(tokens[(2 * part + 1) * tokens.size() / (2 * kWakes)]);
  return some;
}

// One model on its server, being measured: some starts, then the rest.
class Subject {
 public:
  Subject(const LiveServer& server, domain::ModelId id, std::vector<std::uint32_t> usual)
      : server_(server), id_(std::move(id)), usual_(std::move(usual)) {}

  // A start, and behind it a short and a long prompt for the engine that serves. REQUIRES: it is stopped.
  base::Status start() {
    if (!server_.pause(kIdle)) return std::unexpected(stopped());
    auto cold = ask(kBrief);
    if (!cold) return std::unexpected(cold.error());
    start_s_.push_back(lab::served_of(*cold, {}).load_s);
    auto brief = ask(kBrief);
    if (!brief) return std::unexpected(brief.error());
    auto lengthy = ask(std::max(kLeastLengthy, usual_[kWakes / 2]));
    if (!lengthy) return std::unexpected(lengthy.error());
    auto found = lab::speeds_of(*brief, *lengthy);
    if (!found) return std::unexpected(found.error());
    speeds_.push_back(*found);
    return {};
  }
  base::Status stop() {
    auto took = server_.stop(id_);
    if (!took) return std::unexpected(took.error());
    stop_s_.push_back(*took);
    return {};
  }

  // REQUIRES: it was started and stopped, and serves again.
  base::Result<lab::MeasuredCosts> finish() {
    costs_.first_token_s = median_of(&lab::Speeds::first_token_s);
    costs_.prefill_per_s = median_of(&lab::Speeds::prefill_per_s);
    costs_.decode_per_s = median_of(&lab::Speeds::decode_per_s);
    auto serving = bytes();
    if (!serving) return base::pass(serving);
    costs_.ladder.add({Rung::serving, policy::Footprint::host(*serving), 0});
    if (auto done = wakes(); !done) return std::unexpected(done.error());
    costs_.ladder.add({Rung::cold, {}, median(start_s_)});
    costs_.stop_s = median(stop_s_);
    return costs_;
  }

 private:
  base::Result<domain::RequestRecord> ask(std::uint32_t prompt) {
    auto id = server_.ask({id_, prompt, kAnswer, seed_()});
    if (!id) return base::pass(id, id_.text());
    return server_.timeline(*id);
  }

  double median_of(double lab::Speeds::*field) const {
    std::vector<double> values;
    std::ranges::transform(speeds_, std::back_inserter(values), field);
    return median(std::move(values));
  }

  base::Status wakes() {
    lab::ModelSize size;
    size.measured = costs_;
    std::vector<double> seconds;
    std::vector<double> sleep_s;
    base::Bytes asleep = 0;
    for (const std::uint32_t prompt : usual_) {
      auto can = server_.hibernate(id_);
      if (!can) return std::unexpected(can.error());
      if (!*can) return {};
      sleep_s.push_back(**can);
      auto model = server_.model(id_);
      if (!model) return std::unexpected(model.error());
      asleep = model->reserved;
      if (!server_.pause(kAway)) return std::unexpected(stopped());
      auto woken = ask(prompt);  // weights come back beside what the prompt is evaluated for
      if (!woken) return std::unexpected(woken.error());
      seconds.push_back(std::max(kLeastSeconds, lab::served_of(*woken, size).load_s));
    }
    costs_.ladder.add({Rung::hibernated, policy::Footprint::host(asleep), mean(seconds)});
    costs_.sleep_s = median(std::move(sleep_s));
    return {};
  }

  base::Result<base::Bytes> bytes() {
    if (!server_.pause(kUntilMeasured)) return std::unexpected(stopped());
    auto model = server_.model(id_);
    if (!model) return base::pass(model);
    return model->reserved;
  }

  static base::Error stopped() { return {base::ErrorCode::cancelled, "measuring was stopped"}; }

  const LiveServer& server_;
  domain::ModelId id_;
  std::vector<std::uint32_t> usual_;              // tokens of prompts in the trace
  std::mt19937_64 seed_{std::random_device{}()};  // what an earlier measurement asked must not be remembered
  std::vector<double> start_s_;
  std::vector<double> stop_s_;
  std::vector<lab::Speeds> speeds_;
  lab::MeasuredCosts costs_;
};

// In turns, as a household starts them: a start right behind another of the same model is quicker. `tick` tells how
// much of it is done.
base::Status measure_all(std::vector<Subject>& subjects, lab::Trace& trace, const std::function<void(double)>& tick) {
  Subject* last = nullptr;
  double steps = 0;
  const double all = static_cast<double>(subjects.size()) * (kCostRounds + 2);
  const auto change_to = [&](Subject& next) -> base::Status {
    tick(steps++ / all);
    if (last != nullptr) {
      if (auto done = last->stop(); !done) return done;
    }
    last = &next;
    return next.start();
  };
  for (int round = 0; round < kCostRounds; ++round) {
    for (Subject& subject : subjects) {
      if (auto done = change_to(subject); !done) return done;
    }
  }
  for (std::size_t index = 0; index < subjects.size(); ++index) {
    if (auto done = change_to(subjects[index]); !done) return done;
    tick(steps++ / all);
    auto costs = subjects[index].finish();
    if (!costs) return std::unexpected(costs.error());
    trace.models[index].size.measured = std::move(*costs);
  }
  return last == nullptr ? base::Status{} : last->stop();
}

base::Status take_classes(const LiveServer& server, lab::Trace& trace) {
  for (auto& model : trace.models) {
    auto there = server.model(model.id);
    if (!there && there.error().code == base::ErrorCode::model_not_found) {
      return base::fail(base::ErrorCode::model_not_found,
                        fmt::format("the server at {} has no model {}; name one that it has with --map {}=MODEL",
                                    server.url(), model.id.text(), model.id.text()));
    }
    if (!there) return std::unexpected(there.error());
    model.service_class = there->service_class;
  }
  return {};
}

}  // namespace

base::Status stop_all(const LiveServer& server, const lab::Trace& trace) {
  for (const auto& model : trace.models) {
    if (auto done = server.stop(model.id); !done) return std::unexpected(done.error());
  }
  return {};
}

base::Status measure_costs(const LiveServer& server, lab::Trace& trace, Console& console) {
  if (auto done = take_classes(server, trace); !done) return done;
  if (auto done = stop_all(server, trace); !done) return done;
  std::vector<Subject> subjects;
  for (std::uint32_t index = 0; index < trace.models.size(); ++index)
    subjects.emplace_back(server, trace.models[index].id, usual_prompts(trace, index));
  ProgressLine progress(console);
  const base::Mono begun = console.clock.now();
  return measure_all(subjects, trace, [&](double done) {
    const double ms = base::to_ms(console.clock.now() - begun);
    progress.show({fmt::format("measuring what {} models cost", trace.models.size())},
                  done > 0 ? std::optional(base::from_ms(ms / done)) : std::nullopt);
  });
}

}  // namespace hearth::cli
