#pragma once
// Which layer's miss made the first token of a request slow, and what would have avoided it. Pure: no clock, no I/O.
//
// Each stage before the first token is charged to the layer that would have made it unnecessary:
//   artifact_fetch -> artifact    storage_read -> pages      process_start -> process    weights_load -> weights
//   device_upload  -> device      kernel_compile -> kernels  prefill       -> prefix (see below)
// queue, admission, template, tokenize, prefix_restore, first_decode and other are no layer's miss. Weights that are
// repacked would be `packed`; nothing tells that time from the rest of the load yet, so it is charged to `weights`.
// Decoding is never charged to anything: no cache makes it faster.
//
// A prefill is only a miss when most of a longer prompt had to be evaluated (at least kLongPrompt tokens, more than
// were reused): evaluating what is new is not. Where the engine process was up, yet read from storage while it ran, the
// prefill is charged to `pages` instead. Both are inferred.
//
// The cause is the layer with the largest charge, if that is more than 5 ms and more than 10 % of the time before the
// first token (for an answer without one: of all but the decode). A request that failed (status >= 400) has none,
// unless the client left (499): its time was not the price of a token.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "domain/event.h"
#include "domain/request.h"

namespace hearth::policy {

inline constexpr std::int64_t kLongPrompt = 128;  // tokens
inline constexpr double kLeastCauseMs = 5;
inline constexpr double kLeastCauseShare = 0.1;
// A remedy that saves less than this is not worth the memory: the bounded cold start is to be accepted. People notice
// delays of about this length (Nielsen's 0.1 s limit).
inline constexpr double kWorthAvoidingMs = 100;

// The event of a model that no event in a complete history cooled: `at` is the request's own time.
inline constexpr std::string_view kNeverStarted = "never_started";

// `history`: ascending ids, as the event log keeps it; taken as complete when it is empty or its first id is 1. The
// reason is the last event of this model before the engine was started for it (or, without a start, before the request
// came) that cooled the layer: process_stopped and process_failed cool what lives in the process; what ends in
// hibernated, cooled, evicted, dropped, removed or quarantined the layer it names. Unknown stays empty.
[[nodiscard]] std::optional<domain::Cause> find_cause(const domain::RequestObservation& observation,
                                                      const std::vector<domain::StageSpan>& stages,
                                                      std::span<const domain::Event> history);

// Fills in the cause of a record that was assembled from the observation.
void add_cause(domain::RequestRecord& record, const domain::RequestObservation& observation,
               std::span<const domain::Event> history);

}  // namespace hearth::policy
