#include "lab/optimum.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_map>

namespace hearth::lab {
namespace {

using State = std::uint64_t;  // two bits a model: which rung of its ladder

struct Period {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint32_t model = 0;
};

std::vector<Period> busy_periods(const Trace& trace, const CostModel& costs) {
  std::vector<Period> periods;
  std::vector<std::optional<std::size_t>> last(trace.models.size());
  for (const TraceRequest& request : trace.requests) {
    const double busy = request.busy_s > 0 ? static_cast<double>(request.busy_s)
                                           : busy_s(trace.models[request.model].size, costs, request.prompt_tokens,
                                                    request.generated_tokens);
    const std::int64_t end = request.at_ns + std::llround(busy * 1e9);
    auto& current = last[request.model];
    if (current && periods[*current].end >= request.at_ns) {
      periods[*current].end = std::max(periods[*current].end, end);
      continue;
    }
    current = periods.size();
    periods.push_back({request.at_ns, end, request.model});
  }
  return periods;
}

class Search {
 public:
  Search(const Trace& trace, const policy::Footprint& memory, const CostModel& costs, std::size_t most_states)
      : memory_(memory.host()), most_states_(most_states), periods_(busy_periods(trace, costs)) {
    if (trace.models.size() > kMostOptimumModels) throw std::logic_error("too many models for the optimum");
    for (const TraceModel& model : trace.models) {
      const auto ladder = layered(model.size, costs);
      auto& rungs = rungs_.emplace_back();
      for (const auto& rung : ladder.rungs())
        rungs.push_back({rung.bytes.host(), rung.ready_s});
    }
  }

  Optimum run() {
    State all_cold = 0;
    for (std::size_t model = 0; model < rungs_.size(); ++model)
      all_cold = with(all_cold, model, rungs_[model].size() - 1);
    states_ = {{all_cold, 0}};
    std::vector<std::int64_t> busy_until(rungs_.size(), -1);
    for (const Period& period : periods_) {
      step(period, busy_until);
      busy_until[period.model] = period.end;
    }
    Optimum optimum{.exact = exact_, .busy_periods = periods_.size(), .most_states = most_};
    optimum.cold_start_s = std::ranges::min_element(states_, {}, &Entry::cost)->cost;
    return optimum;
  }

 private:
  struct Rung {
    base::Bytes bytes;
    double ready_s;
  };
  struct Entry {
    State state;
    double cost;
  };

  static std::size_t rung_of(State state, std::size_t model) { return state >> (2 * model) & 3; }
  static State with(State state, std::size_t model, std::size_t rung) {
    return (state & ~(State{3} << (2 * model))) | State{rung} << (2 * model);
  }
  [[nodiscard]] base::Bytes bytes_of(State state) const {
    base::Bytes sum = 0;
    for (std::size_t model = 0; model < rungs_.size(); ++model)
      sum += rungs_[model][rung_of(state, model)].bytes;
    return sum;
  }

  void step(const Period& period, const std::vector<std::int64_t>& busy_until) {
    std::vector<std::size_t> idle;
    for (std::size_t model = 0; model < rungs_.size(); ++model) {
      if (model != period.model && busy_until[model] <= period.begin) idle.push_back(model);
    }
    next_.clear();
    for (const Entry& entry : states_) {
      const double cost = entry.cost + rungs_[period.model][rung_of(entry.state, period.model)].ready_s;
      descend(with(entry.state, period.model, 0), cost, idle);
    }
    collect();
  }

  // Every way down to what fits from which nothing could be kept warmer.
  void descend(State state, double cost, const std::vector<std::size_t>& idle) {
    State least = state;
    for (const std::size_t model : idle)
      least = with(least, model, rungs_[model].size() - 1);
    if (bytes_of(least) > memory_) return keep(least, cost);
    branch(state, cost, idle, 0, bytes_of(state));
  }

  void branch(State state, double cost, const std::vector<std::size_t>& idle, std::size_t from, base::Bytes bytes) {
    if (bytes <= memory_) return keep(state, cost);
    if (from == idle.size()) return;
    const std::size_t model = idle[from];
    const std::size_t now = rung_of(state, model);
    for (std::size_t rung = now; rung < rungs_[model].size(); ++rung)
      branch(with(state, model, rung), cost, idle, from + 1,
             bytes - rungs_[model][now].bytes + rungs_[model][rung].bytes);
  }

  void keep(State state, double cost) {
    const auto [place, added] = next_.emplace(state, cost);
    if (!added) place->second = std::min(place->second, cost);
  }

  // What `from` would still have to load to be as warm as `to`.
  [[nodiscard]] double distance(State from, State to) const {
    double sum = 0;
    for (std::size_t model = 0; model < rungs_.size(); ++model)
      sum += std::max(0.0, rungs_[model][rung_of(from, model)].ready_s - rungs_[model][rung_of(to, model)].ready_s);
    return sum;
  }

  void collect() {
    std::vector<Entry> all;
    all.reserve(next_.size());
    for (const auto& [state, cost] : next_)
      all.push_back({state, cost});
    std::ranges::sort(all, [](const Entry& left, const Entry& right) {
      return left.cost != right.cost ? left.cost < right.cost : left.state < right.state;
    });
    states_.clear();
    for (const Entry& entry : all) {
      const bool needless = std::ranges::any_of(states_, [&](const Entry& other) {
        return other.cost + distance(other.state, entry.state) <= entry.cost + 1e-12;
      });
      if (needless) continue;
      if (states_.size() >= most_states_) {
        exact_ = false;
        break;
      }
      states_.push_back(entry);
    }
    most_ = std::max(most_, states_.size());
  }

  base::Bytes memory_;
  std::size_t most_states_;
  std::vector<Period> periods_;
  std::vector<std::vector<Rung>> rungs_;
  std::vector<Entry> states_;
  std::unordered_map<State, double> next_;
  bool exact_ = true;
  std::size_t most_ = 1;
};

}  // namespace

Optimum offline_optimum(const Trace& trace, const policy::Footprint& memory, const CostModel& costs,
                        std::size_t most_states) {
  return Search(trace, memory, costs, most_states).run();
}

}  // namespace hearth::lab
