#pragma once
// A recorded or invented history of requests, as plain values.
#include <cstdint>
#include <string>
#include <vector>

#include "domain/model.h"
#include "domain/model_id.h"
#include "lab/costs.h"

namespace hearth::lab {

struct TraceModel {
  domain::ModelId id;
  domain::ServiceClass service_class = domain::ServiceClass::interactive;
  ModelSize size;
};

struct TraceRequest {
  std::int64_t at_ns = 0;  // since the trace began
  std::uint32_t model = 0;
  std::uint32_t prompt_tokens = 0;  // that have to be evaluated
  std::uint32_t generated_tokens = 0;
  float busy_s = 0;  // on a warm engine; 0: from the tokens and the cost model
};

struct Trace {
  std::string name;
  std::int64_t local_minute = 0;  // of its beginning: minutes since a Monday 00:00
  std::vector<TraceModel> models;
  std::vector<TraceRequest> requests;  // by time
};

// Stable order by time; requests at the same instant stay as they were.
void sort_by_time(Trace& trace);

}  // namespace hearth::lab
