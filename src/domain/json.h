#pragma once
// The native API's JSON of the domain's values, both ways. Unknown is null. Times in ms, sizes in bytes, instants RFC
// 3339. Reading is for Hearth's own client: it is tolerant of added fields; a missing or mistyped needed field is a
// bad_request error that names it.
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "domain/engine_info.h"
#include "domain/event.h"
#include "domain/load_plan.h"
#include "domain/machine.h"
#include "domain/model.h"
#include "domain/request.h"

namespace hearth::domain {

using Json = nlohmann::ordered_json;

[[nodiscard]] Json to_json(const ColdStart& cold);
[[nodiscard]] Json to_json(const ModelView& model);
[[nodiscard]] Json to_json(const RequestRecord& record);
[[nodiscard]] Json to_json(const EngineInfo& engine);
[[nodiscard]] Json to_json(const MachineView& machine);
[[nodiscard]] Json to_json(const LoadPlan& plan);
[[nodiscard]] Json to_json(const Event& event);
// {"error": {"code", "message", "details": {…}}}
[[nodiscard]] Json to_json(const base::Error& error);

[[nodiscard]] base::Result<RequestRecord> request_from_json(const Json& json);

}  // namespace hearth::domain
