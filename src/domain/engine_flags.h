#pragma once
// The flags of llama-server that a person may add, and those that Hearth sets itself.
//
// llama-server reads '_' in a long option as '-', and the last of two equal options wins, so a flag that Hearth owns
// would silently take the engine away from it (another port, another model, another key). Source: `llama-server
// --help`, build 11669.
#include <string>
#include <vector>

#include "base/result.h"

namespace hearth::domain {

// Errors: bad_request, naming the first flag that is refused, why, and what to write instead.
[[nodiscard]] base::Status check_engine_flags(const std::vector<std::string>& flags);

}  // namespace hearth::domain
