#pragma once
// What each model of a trace costs on a running server, measured there: seconds of a start and of a wake, bytes of each
// rung, and how fast it is when it serves. Private to src/cli.
#include "cli/live_server.h"
#include "cli/progress.h"
#include "lab/trace.h"

namespace hearth::cli {

inline constexpr int kCostRounds = 3;  // of which the median counts

// Puts class and costs of every model into the trace, as the server has them. The prompts are as long as the trace's
// own. All models of the trace are stopped before and afterwards; their starts are measured in turns.
// Errors: model_not_found for one that the server has not, with the mend; those of LiveServer.
[[nodiscard]] base::Status measure_costs(const LiveServer& server, lab::Trace& trace, Console& console);
// Stops the engines of all models of the trace.
[[nodiscard]] base::Status stop_all(const LiveServer& server, const lab::Trace& trace);

}  // namespace hearth::cli
