#include "cli/live_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "lab/observed.h"

namespace hearth::cli {
namespace {

using namespace std::chrono_literals;
using policy::Rung;

constexpr std::uint32_t kBrief = 8;           // tokens
constexpr std::uint32_t kLeastLengthy = 128;  // tokens
constexpr std::uint32_t kAnswer = 24;         // tokens
constexpr auto kUntilMeasured = 2500ms;       // the server measures an engine that has been idle for a second
constexpr double kLeastSeconds = 0.001;       // of a rung that costs nothing to speak of

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::uint32_t usual_prompt(const lab::Trace& trace, std::uint32_t model) {
  std::vector<std::uint32_t> tokens;
  for (const auto& request : trace.requests) {
    if (request.model == model) tokens.push_back(request.prompt_tokens);
  }
  if (tokens.empty()) return kLeastLengthy;
  std::ranges::sort(tokens);
  return std::max(kLeastLengthy, tokens[tokens.size() / 2]);
}

// One model on its server, being measured.
class Subject {
 public:
  Subject(const LiveServer& server, domain::ModelId id, std::uint32_t lengthy)
      : server_(server), id_(std::move(id)), lengthy_(lengthy) {}

  base::Result<lab::MeasuredCosts> measure() {
    if (auto done = starts(); !done) return std::unexpected(done.error());
    auto serving = bytes();
    if (!serving) return base::pass(serving);
    costs_.ladder.add({Rung::serving, policy::Footprint::host(*serving), 0});
    if (auto done = wakes(); !done) return std::unexpected(done.error());
    costs_.ladder.add({Rung::cold, {}, median(start_s_)});
    if (auto done = server_.stop(id_); !done) return std::unexpected(done.error());
    return costs_;
  }

 private:
  base::Result<domain::RequestRecord> ask(std::uint32_t prompt) {
    auto id = server_.ask({id_, prompt, kAnswer, seed_()});
    if (!id) return base::pass(id, id_.text());
    return server_.timeline(*id);
  }

  // Starts, and behind each a short and a long prompt for the engine that serves.
  base::Status starts() {
    std::vector<lab::Speeds> speeds;
    for (int round = 0; round < kCostRounds; ++round) {
      if (auto done = server_.stop(id_); !done) return done;
      auto cold = ask(kBrief);
      if (!cold) return std::unexpected(cold.error());
      start_s_.push_back(lab::served_of(*cold, {}).load_s);
      auto brief = ask(kBrief);
      if (!brief) return std::unexpected(brief.error());
      auto lengthy = ask(lengthy_);
      if (!lengthy) return std::unexpected(lengthy.error());
      auto found = lab::speeds_of(*brief, *lengthy);
      if (!found) return std::unexpected(found.error());
      speeds.push_back(*found);
    }
    const auto of = [&speeds](auto field) {
      std::vector<double> values;
      std::ranges::transform(speeds, std::back_inserter(values), field);
      return median(std::move(values));
    };
    costs_.first_token_s = of(&lab::Speeds::first_token_s);
    costs_.prefill_per_s = of(&lab::Speeds::prefill_per_s);
    costs_.decode_per_s = of(&lab::Speeds::decode_per_s);
    return {};
  }

  base::Status wakes() {
    lab::ModelSize size;
    size.measured = costs_;
    std::vector<double> seconds;
    base::Bytes asleep = 0;
    for (int round = 0; round < kCostRounds; ++round) {
      auto can = server_.hibernate(id_);
      if (!can) return std::unexpected(can.error());
      if (!*can) return {};
      auto model = server_.model(id_);
      if (!model) return std::unexpected(model.error());
      asleep = model->reserved;
      auto woken = ask(kBrief);
      if (!woken) return std::unexpected(woken.error());
      seconds.push_back(std::max(kLeastSeconds, lab::served_of(*woken, size).load_s));
      if (!server_.pause(kUntilMeasured)) return std::unexpected(stopped());
    }
    costs_.ladder.add({Rung::hibernated, policy::Footprint::host(asleep), median(std::move(seconds))});
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
  std::uint32_t lengthy_;
  std::mt19937_64 seed_{std::random_device{}()};  // what an earlier measurement asked must not be remembered
  std::vector<double> start_s_;
  lab::MeasuredCosts costs_;
};

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
    if (auto done = server.stop(model.id); !done) return done;
  }
  return {};
}

base::Status measure_costs(const LiveServer& server, lab::Trace& trace, Console& console) {
  if (auto done = take_classes(server, trace); !done) return done;
  if (auto done = stop_all(server, trace); !done) return done;
  ProgressLine progress(console);
  const base::Mono begun = console.clock.now();
  const ProgressStep step{fmt::format("measuring what {} models cost", trace.models.size())};
  std::optional<base::Duration> expected;
  for (std::uint32_t index = 0; index < trace.models.size(); ++index) {
    progress.show(step, expected);
    auto& model = trace.models[index];
    auto costs = Subject(server, model.id, usual_prompt(trace, index)).measure();
    if (!costs) return std::unexpected(costs.error());
    model.size.measured = std::move(*costs);
    expected = (console.clock.now() - begun) / (index + 1) * static_cast<std::int64_t>(trace.models.size());
  }
  return {};
}

}  // namespace hearth::cli
