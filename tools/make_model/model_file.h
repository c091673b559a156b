#pragma once
// Writes a plan as a GGUF file, tensor by tensor through one small buffer, so that memory does not grow with the model.
#include <atomic>
#include <functional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/make_model/plan.h"

namespace hearth::make_model {

[[nodiscard]] base::Bytes file_bytes(const Plan& plan);

// `progress` hears of the bytes written so far; `stop`, once true, ends it with `cancelled`. On any error nothing is
// left behind and what had the name before is untouched. Errors: no_space, permission, io, cancelled.
[[nodiscard]] base::Status write_model(const Plan& plan, const std::string& path,
                                       const std::function<void(base::Bytes)>& progress, const std::atomic<bool>& stop);

}  // namespace hearth::make_model
