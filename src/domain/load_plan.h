#pragma once
// What would happen if somebody asked for a model now (native API: POST /models/{id}/plan).
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "domain/model_id.h"

namespace hearth::domain {

struct PlannedDemotion {
  ModelId model;
  std::string from;  // serving, hibernated
  std::string to;    // hibernated, cold
  base::Bytes frees = 0;
  std::string why;
};

struct LoadPlan {
  std::string action;         // serve, load, wait, refuse
  std::string why;            // one clause
  base::Bytes needed = 0;     // more than it holds now
  base::Bytes available = 0;  // free now; refuse: all there could be
  std::string basis;          // where `needed` comes from
  std::vector<PlannedDemotion> demotions;
  std::vector<std::string> waits_for;  // models that have to end, or be unpinned
  std::optional<std::uint64_t> largest_context;
  std::vector<std::string> smaller_quantisations;
  std::optional<double> ready_in_ms;  // from the moment its memory is there; empty: not known
  std::optional<double> wait_ms;      // until then; empty: not known
};

}  // namespace hearth::domain
