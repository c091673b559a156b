#pragma once
// What of a request's time to the first token went into layers that were not warm.
#include "domain/request.h"

namespace hearth::domain {

// Fetching, reading, starting, loading, uploading, compiling: what each of them added to the time to the first token,
// in milliseconds.
[[nodiscard]] double cold_ms_of(const RequestRecord& record);

}  // namespace hearth::domain
