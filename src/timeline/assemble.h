#pragma once
// Turns what was observed of one request into its stages. Pure: no clock, no I/O; any thread.
//
// The rules, also in docs/timeline.md. Every instant is taken relative to `received`, limited to 0..total, and the
// instants are put in their order (`first_token` and `finished` win over the ones between), so no stage is ever
// negative. An instant that never came leaves its phase out: the phase before it lasts until the next instant that is
// known.
//
//   received -> asked          admission
//   asked -> admitted          the wait for the model. The part within the engine's start is split into
//                                spawned -> listening   process_start
//                                listening -> ready     weights_load
//                              and out of these, weights_load first, storage_read takes the time the loading thread
//                              slept on storage, in proportion when the request did not see the whole start. What is
//                              before the spawn (another model going, back-off) and after ready is queue.
//   admitted -> sent           template, tokenize and prefix_restore where the prompt's beginning was looked up, else
//                              other
//   sent -> prefill_began      tokenize and prefix_restore as long as the probe in the engine says, the rest queue when
//                              the engine was busy, else other (the template is in it)
//   prefill_began -> token     prefill as long as the probe, else the engine's prompt_ms says, the rest first_decode
//   token -> finished          decode
//
// Without prefill_began, or when it was seen less than prompt_ms before the token (the stream came in one piece),
// sent -> token is split from its end: prefill ends at the first token, or earlier when the
// engine says that it generated for longer than we saw it generate (it held tokens back): that is first_decode. What is
// left in front is queue or other, as above. Without timings nothing tells prefill from first_decode: all of it is
// prefill when it is known to have begun, else other. Without a token (an answer that is not streamed, an embedding, a
// failure) the same split runs to `finished`, with the engine's generated_ms as decode at the end; ttft_ms is empty.
//
// Sums, exact but for the rounding of doubles: critical_ms of all stages is total_ms; critical_ms of all but decode is
// ttft_ms, where there is one. A span (start_ms, ms) may overlap others: weights_load spans its whole phase,
// storage_read lies within it. A stage met in several pieces (queue, other) is told as one of their length, beginning
// with the longest.
#include "domain/request.h"

namespace hearth::timeline {

// `cause` stays empty; it is policy's to find.
[[nodiscard]] domain::RequestRecord assemble(const domain::RequestObservation& observation);

}  // namespace hearth::timeline
