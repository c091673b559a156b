#pragma once
// The value of the Server-Timing header (W3C Server Timing): "queue;dur=0.4, process_start;dur=98.2". Pure.
#include <span>
#include <string>

#include "domain/request.h"

namespace hearth::timeline {

// One metric for each stage of at least 0.05 ms, named as the stage is, `dur` its critical milliseconds; at most 1024
// bytes, later stages left out first. Empty when there is nothing to say: send no header then.
[[nodiscard]] std::string server_timing(std::span<const domain::StageSpan> stages);

// What is known while the request runs, at `now`. Until a token or the engine's timings came this ends where the
// request was handed to the engine: what the engine does meanwhile has no name yet. `finished` of the observation is
// not read.
[[nodiscard]] std::string server_timing(domain::RequestObservation so_far, base::Mono now);

}  // namespace hearth::timeline
